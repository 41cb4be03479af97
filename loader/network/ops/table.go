package ops

import (
	"math"

	"anesim/loader/network/graph"
)

// An Operator describes an operator of a graph: how to infer its results, how to compute them
// from constants, and properties that passes use. Package choose has the rules that turn
// operators into layers.
type Operator struct {
	// Infer returns the shapes and types of a node's results.
	Infer Rule
	// Fold computes a node's results from constants, both when a file is read and on the host.
	Fold Folder
	// Sized is like Fold, but is used only if the size of a tensor depends on values. The engine
	// computes all other nodes of the operator, even on constants, because it rounds to fp16.
	Sized Folder
	// Range bounds the elements of a result. It is nil if they have no bounds.
	Range *graph.Range
	Is    Property
	// Refuse says why the operator cannot be a layer. It is empty if there is no special reason.
	Refuse string
}

// A Rule infers the shapes and types of a node's results from its inputs.
type Rule func(n *graph.Node) ([]graph.Result, error)

// A Folder computes the results of a node whose inputs are all constants. res holds the inferred
// shapes and types of the results. A Folder returns nil without an error for a form of the
// operator that it does not support.
type Folder func(n *graph.Node, res []graph.Result) ([]*graph.Const, error)

// A Property is a set of properties of operators, with one bit for each.
type Property uint

// Properties of operators, for the field Is of [Operator].
const (
	Keeps       Property = 1 << iota // keeps the values and their order
	Picks                            // reads only selected elements of its first input
	Sizes                            // the size of the results depends on input values
	Rises                            // monotonic in the first operand; the others are constants
	RisesAll                         // monotonic in every operand
	Elementwise                      // each result element depends only on the operands' elements at its position
	Narrow                           // 8-bit integers, which fp16 holds exactly, give 8-bit integers
	Transparent                      // commutes with a transpose
)

// Has reports whether the operator has at least one of the properties in p.
func (o *Operator) Has(p Property) bool { return o.Is&p != 0 }

// Host returns the function with which the host computes the operator. It is o.Fold or, if that
// is nil, o.Sized; it is nil if the operator has neither.
func (o *Operator) Host() Folder {
	if o.Fold != nil {
		return o.Fold
	}
	return o.Sized
}

// Of returns the description of the named operator. It returns a description without any content
// for an unknown name, never nil.
func Of(op string) *Operator {
	if o := table[op]; o != nil {
		return o
	}
	return &unknown
}

var unknown Operator

// table holds the known ONNX operators, and some that the readers of other formats and the
// patterns add: Linear, Rsqrt, RoundSmall, ScaledLog, QuickGelu, SiLU.
var table = map[string]*Operator{
	"Abs":                          {Infer: sameShape, Fold: foldUnary(math.Abs), Range: positive, Is: Elementwise | Transparent},
	"Acos":                         {Infer: sameShape, Fold: foldUnary(math.Acos)},
	"Acosh":                        {Infer: sameShape, Fold: foldUnary(math.Acosh)},
	"Add":                          {Infer: broadcastShape(0), Fold: foldBinary(func(a, b float64) float64 { return a + b }), Is: RisesAll | Elementwise},
	"And":                          {Infer: broadcastShape(graph.Bool), Fold: foldComparison(func(a, b float64) bool { return a != 0 && b != 0 })},
	"ArgMax":                       {Infer: argMaxShape, Fold: foldArgMax, Refuse: "results are indices, not fp16 values; runs on the host"},
	"ArgMin":                       {Infer: argMaxShape, Fold: foldArgMax, Refuse: "results are indices, not fp16 values; runs on the host"},
	"Asin":                         {Infer: sameShape, Fold: foldUnary(math.Asin)},
	"Asinh":                        {Infer: sameShape, Fold: foldUnary(math.Asinh)},
	"Atan":                         {Infer: sameShape, Fold: foldUnary(math.Atan), Refuse: "engine tables of atan are off by up to 2e-2"},
	"Atanh":                        {Infer: sameShape, Fold: foldUnary(math.Atanh)},
	"AveragePool":                  {Infer: poolShape},
	"BatchNormalization":           {Infer: sameShape},
	"BitwiseAnd":                   {Infer: broadcastShape(0), Fold: foldBinary(func(a, b float64) float64 { return float64(int64(a) & int64(b)) })},
	"BitwiseNot":                   {Infer: sameShape, Fold: foldUnary(func(x float64) float64 { return float64(^int64(x)) })},
	"BitwiseOr":                    {Infer: broadcastShape(0), Fold: foldBinary(func(a, b float64) float64 { return float64(int64(a) | int64(b)) })},
	"BitwiseXor":                   {Infer: broadcastShape(0), Fold: foldBinary(func(a, b float64) float64 { return float64(int64(a) ^ int64(b)) })},
	"Cast":                         {Infer: castShape, Fold: foldCast, Is: Rises},
	"CastLike":                     {Infer: castShape, Fold: foldCast},
	"Ceil":                         {Infer: sameShape, Fold: foldUnary(math.Ceil), Is: Rises | Elementwise},
	"Celu":                         {Infer: sameShape, Is: Elementwise},
	"Clip":                         {Infer: sameShape, Fold: foldClip, Is: Rises | Elementwise | Narrow | Transparent},
	"Compress":                     {Infer: compressShape, Fold: foldCompress, Is: Sizes},
	"Concat":                       {Infer: concatShape, Fold: foldConcat, Is: RisesAll | Narrow},
	"ConstantOfShape":              {Infer: filledShape, Fold: foldConstantOfShape},
	"Conv":                         {Infer: convShape},
	"ConvTranspose":                {Infer: convTransposeShape},
	"Cos":                          {Infer: sameShape, Fold: foldUnary(math.Cos), Is: Elementwise},
	"Cosh":                         {Infer: sameShape, Fold: foldUnary(math.Cosh)},
	"CumSum":                       {Infer: sameShape, Fold: foldCumSum},
	"DepthToSpace":                 {Infer: depthToSpaceShape, Is: Narrow},
	"DequantizeLinear":             {Infer: dequantizeShape, Fold: foldDequantize},
	"Div":                          {Infer: broadcastShape(0), Fold: foldBinaryTyped(quotient), Is: RisesAll | Elementwise},
	"Dropout":                      {Infer: sameShape, Fold: foldView, Is: Keeps},
	"Einsum":                       {Infer: einsumShape},
	"Elu":                          {Infer: sameShape, Is: Elementwise | Transparent},
	"Equal":                        {Infer: broadcastShape(graph.Bool), Fold: foldComparison(func(a, b float64) bool { return a == b })},
	"Erf":                          {Infer: sameShape, Fold: foldUnary(math.Erf), Range: signed, Is: Elementwise | Transparent},
	"Exp":                          {Infer: sameShape, Fold: foldUnary(math.Exp), Range: positive, Is: Elementwise | Transparent},
	"Expand":                       {Infer: expandShape, Fold: foldExpand, Is: Rises | Narrow},
	"EyeLike":                      {Infer: generatedShape, Fold: foldEye},
	"FastGelu":                     {Infer: sameShape, Is: Elementwise},
	"Flatten":                      {Infer: flattenShape, Fold: foldView, Is: Keeps | Rises | Narrow},
	"Floor":                        {Infer: sameShape, Fold: foldUnary(math.Floor), Is: Rises | Elementwise},
	"GRU":                          {Infer: recurrentShape},
	"Gather":                       {Infer: gatherShape, Fold: foldGather, Is: Picks | Rises | Narrow},
	"GatherElements":               {Infer: shapeOfInput(1), Fold: foldGatherElements, Is: Picks},
	"GatherND":                     {Infer: gatherNDShape, Fold: foldGatherND, Is: Picks},
	"Gelu":                         {Infer: sameShape, Is: Elementwise | Transparent},
	"Gemm":                         {Infer: gemmShape},
	"GlobalAveragePool":            {Infer: globalPoolShape},
	"GlobalLpPool":                 {Infer: globalPoolShape},
	"GlobalMaxPool":                {Infer: globalPoolShape},
	"Greater":                      {Infer: broadcastShape(graph.Bool), Fold: foldComparison(func(a, b float64) bool { return a > b })},
	"GreaterOrEqual":               {Infer: broadcastShape(graph.Bool), Fold: foldComparison(func(a, b float64) bool { return a >= b })},
	"GridSample":                   {Infer: gridSampleShape, Fold: foldGridSample, Refuse: "operator samples between pixels at computed positions"},
	"GroupNormalization":           {Infer: sameShape},
	"HardSigmoid":                  {Infer: sameShape, Sized: foldHardSigmoid, Range: unit, Is: Elementwise | Transparent},
	"HardSwish":                    {Infer: sameShape, Is: Elementwise | Transparent},
	"Hardmax":                      {Infer: sameShape, Fold: foldHardmax},
	"Identity":                     {Infer: sameShape, Fold: foldView, Is: Keeps | Rises | Elementwise | Narrow | Transparent},
	"InstanceNormalization":        {Infer: sameShape},
	"IsInf":                        {Infer: boolShape, Fold: foldIsNaNOrInf},
	"IsNaN":                        {Infer: boolShape, Fold: foldIsNaNOrInf},
	"LRN":                          {Infer: sameShape},
	"LSTM":                         {Infer: recurrentShape},
	"LayerNormalization":           {Infer: layerNormShape},
	"LeakyRelu":                    {Infer: sameShape, Is: Elementwise | Transparent},
	"Less":                         {Infer: broadcastShape(graph.Bool), Fold: foldComparison(func(a, b float64) bool { return a < b })},
	"LessOrEqual":                  {Infer: broadcastShape(graph.Bool), Fold: foldComparison(func(a, b float64) bool { return a <= b })},
	"Linear":                       {Infer: linearShape},
	"Log":                          {Infer: sameShape, Fold: foldUnary(math.Log), Is: Elementwise | Transparent},
	"LogSoftmax":                   {Infer: sameShape, Sized: foldSoftmax},
	"Loop":                         {Refuse: "loops run on the host"},
	"LpNormalization":              {Infer: sameShape},
	"LpPool":                       {Infer: poolShape},
	"MatMul":                       {Infer: matmulShape},
	"Max":                          {Infer: broadcastShape(0), Fold: foldBinary(func(a, b float64) float64 { return max(a, b) }), Is: RisesAll | Elementwise | Narrow},
	"MaxPool":                      {Infer: poolShape, Is: Narrow},
	"Mean":                         {Infer: broadcastShape(0), Sized: foldMean, Is: Elementwise},
	"MeanVarianceNormalization":    {Infer: sameShape},
	"Min":                          {Infer: broadcastShape(0), Fold: foldBinary(func(a, b float64) float64 { return min(a, b) }), Is: RisesAll | Elementwise | Narrow},
	"Mish":                         {Infer: sameShape, Is: Elementwise},
	"Mod":                          {Infer: broadcastShape(0), Fold: foldBinaryTyped(remainder)},
	"Mul":                          {Infer: broadcastShape(0), Fold: foldBinary(func(a, b float64) float64 { return a * b }), Is: RisesAll | Elementwise},
	"Neg":                          {Infer: sameShape, Fold: foldUnary(func(x float64) float64 { return -x }), Is: Rises | Elementwise | Transparent},
	"NonMaxSuppression":            {Infer: suppressionShape, Fold: foldSuppression, Is: Sizes, Refuse: "number of result rows depends on values"},
	"NonZero":                      {Infer: nonZeroShape, Fold: foldNonZero, Is: Sizes, Refuse: "result shape depends on values; runs on the host"},
	"Not":                          {Infer: sameShape, Fold: foldUnary(func(x float64) float64 { return graph.Truth(x == 0) })},
	"OneHot":                       {Infer: oneHotShape, Fold: foldOneHot},
	"Or":                           {Infer: broadcastShape(graph.Bool), Fold: foldComparison(func(a, b float64) bool { return a != 0 || b != 0 })},
	"PRelu":                        {Infer: sameShape},
	"Pad":                          {Infer: padShape, Is: Narrow},
	"Pow":                          {Infer: broadcastShape(0), Fold: foldBinary(math.Pow), Is: Elementwise},
	"QuantizeLinear":               {Infer: quantizeShape, Fold: foldQuantize},
	"QuickGelu":                    {Infer: sameShape, Is: Elementwise},
	"RMSNormalization":             {Infer: sameShape},
	"RNN":                          {Infer: recurrentShape},
	"RandomNormal":                 {Infer: generatedShape, Fold: foldRandom},
	"RandomNormalLike":             {Infer: generatedShape, Fold: foldRandom},
	"RandomUniform":                {Infer: generatedShape, Fold: foldRandom},
	"RandomUniformLike":            {Infer: generatedShape, Fold: foldRandom},
	"Range":                        {Infer: rangeShape, Fold: foldRange},
	"Reciprocal":                   {Infer: sameShape, Fold: foldUnary(func(x float64) float64 { return 1 / x }), Is: Elementwise},
	"ReduceL1":                     {Infer: reduceShape, Sized: foldReduce},
	"ReduceL2":                     {Infer: reduceShape, Sized: foldReduce},
	"ReduceLogSum":                 {Infer: reduceShape, Sized: foldReduce},
	"ReduceLogSumExp":              {Infer: reduceShape, Sized: foldReduce},
	"ReduceMax":                    {Infer: reduceShape, Fold: foldReduce, Is: Rises | Narrow},
	"ReduceMean":                   {Infer: reduceShape, Fold: foldReduce},
	"ReduceMin":                    {Infer: reduceShape, Fold: foldReduce, Is: Rises | Narrow},
	"ReduceProd":                   {Infer: reduceShape, Fold: foldReduce, Is: Rises},
	"ReduceSum":                    {Infer: reduceShape, Fold: foldReduce, Is: Rises},
	"ReduceSumSquare":              {Infer: reduceShape, Sized: foldReduce},
	"Relu":                         {Infer: sameShape, Fold: foldUnary(func(x float64) float64 { return max(0, x) }), Range: positive, Is: Elementwise | Narrow | Transparent},
	"Reshape":                      {Infer: reshapeShape, Fold: foldView, Is: Keeps | Rises | Narrow},
	"Resize":                       {Infer: resizeShape, Is: Narrow},
	"ReverseSequence":              {Infer: sameShape, Fold: foldReverseSequence},
	"RoiAlign":                     {Infer: roiAlignShape, Fold: foldRoiAlign},
	"Round":                        {Infer: sameShape, Fold: foldUnary(math.RoundToEven), Is: Rises, Refuse: "engine tables do not round halves to even"},
	"RoundSmall":                   {Infer: sameShape},
	"Rsqrt":                        {Infer: sameShape},
	"ScaledLog":                    {Infer: sameShape},
	"Scan":                         {Refuse: "loops run on the host"},
	"Scatter":                      {Infer: sameShape, Fold: foldScatterElements},
	"ScatterElements":              {Infer: sameShape, Fold: foldScatterElements, Refuse: "operator writes at computed positions"},
	"ScatterND":                    {Infer: sameShape, Fold: foldScatterND, Refuse: "operator writes at computed positions"},
	"Selu":                         {Infer: sameShape, Is: Elementwise},
	"Shape":                        {Infer: sizeShape, Fold: foldSize},
	"Shrink":                       {Infer: sameShape},
	"SiLU":                         {Infer: sameShape, Is: Elementwise},
	"Sigmoid":                      {Infer: sameShape, Fold: foldUnary(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }), Range: unit, Is: Elementwise | Transparent},
	"Sign":                         {Infer: sameShape, Fold: foldUnary(func(x float64) float64 { return graph.Truth(x > 0) - graph.Truth(x < 0) }), Is: Elementwise},
	"SimplifiedLayerNormalization": {Infer: sameShape},
	"Sin":                          {Infer: sameShape, Fold: foldUnary(math.Sin), Is: Elementwise},
	"Sinh":                         {Infer: sameShape, Fold: foldUnary(math.Sinh)},
	"Size":                         {Infer: sizeShape, Fold: foldSize},
	"Slice":                        {Infer: sliceShape, Fold: foldSlice, Is: Rises | Narrow},
	"Softmax":                      {Infer: sameShape, Sized: foldSoftmax, Range: unit},
	"Softplus":                     {Infer: sameShape, Is: Elementwise | Transparent},
	"Softsign":                     {Infer: sameShape, Is: Elementwise},
	"SpaceToDepth":                 {Infer: spaceToDepthShape, Is: Narrow},
	"Split":                        {Infer: splitShape, Fold: foldSplit, Is: Narrow},
	"Sqrt":                         {Infer: sameShape, Fold: foldUnary(math.Sqrt), Range: positive, Is: Rises | Elementwise | Transparent},
	"Squeeze":                      {Infer: squeezeShape, Fold: foldView, Is: Keeps | Rises | Narrow},
	"Sub":                          {Infer: broadcastShape(0), Fold: foldBinary(func(a, b float64) float64 { return a - b }), Is: RisesAll | Elementwise},
	"Sum":                          {Infer: broadcastShape(0), Fold: foldBinary(func(a, b float64) float64 { return a + b }), Is: Elementwise},
	"Swish":                        {Infer: sameShape, Is: Elementwise | Transparent},
	"Tan":                          {Infer: sameShape, Fold: foldUnary(math.Tan)},
	"Tanh":                         {Infer: sameShape, Fold: foldUnary(math.Tanh), Range: signed, Is: Elementwise | Transparent},
	"ThresholdedRelu":              {Infer: sameShape, Is: Elementwise},
	"Tile":                         {Infer: tileShape, Fold: foldTile, Is: Rises | Narrow},
	"TopK":                         {Infer: topKShape, Fold: foldTopK, Refuse: "sorting runs on the host"},
	"Transpose":                    {Infer: transposeShape, Fold: foldTranspose, Is: Rises | Narrow},
	"Trilu":                        {Infer: sameShape, Fold: foldTrilu},
	"Unique":                       {Infer: uniqueShape, Fold: foldUnique, Is: Sizes},
	"Unsqueeze":                    {Infer: unsqueezeShape, Fold: foldView, Is: Keeps | Rises | Narrow},
	"Upsample":                     {Infer: resizeShape},
	"Where":                        {Infer: whereShape, Fold: foldWhere},
	"Xor":                          {Infer: broadcastShape(graph.Bool), Fold: foldComparison(func(a, b float64) bool { return (a != 0) != (b != 0) })},
}
