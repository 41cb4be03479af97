package ops

import (
	"math"

	"anesim/internal/network/graph"
)

// An Operator describes an operator of a graph: how to infer the shapes of its results, how to
// compute them from constants, and which properties it has. The rules that turn operators into
// layers are in package choose.
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
	// Is holds the properties of the operator.
	Is Property
	// Refuse says why the operator cannot be a layer. It is empty if there is no special reason.
	Refuse string
}

// A Rule infers the shapes and types of a node's results from its inputs.
type Rule func(n *graph.Node) ([]graph.Result, error)

// A Folder computes the results of a node whose inputs are all constants. res holds the inferred
// shapes and types of the results. If a Folder does not support the node, it returns nil and no
// error.
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

// Has reports whether the operator has at least one of the properties in the set p.
func (o *Operator) Has(p Property) bool { return o.Is&p != 0 }

// Host returns the function with which the host computes the operator: o.Fold or, if it is nil,
// o.Sized. It returns nil if both are nil.
func (o *Operator) Host() Folder {
	if o.Fold != nil {
		return o.Fold
	}
	return o.Sized
}

// Of returns the description of the named operator. For an unknown name, the description is empty,
// but not nil.
func Of(op string) *Operator {
	if o := table[op]; o != nil {
		return o
	}
	return &unknown
}

var unknown Operator

// table holds the known ONNX operators, and some that the readers of other formats and the
// patterns and expansions add: DeformColumns, Linear, MaxPoolIndices, Rsqrt, RoundSmall, ScaledLog,
// QuickGelu, SiLU.
var table = map[string]*Operator{
	"Abs":                          {Infer: inferSameShape, Fold: unaryFolder(math.Abs), Range: positive, Is: Elementwise | Transparent},
	"Acos":                         {Infer: inferSameShape, Fold: unaryFolder(math.Acos)},
	"Acosh":                        {Infer: inferSameShape, Fold: unaryFolder(math.Acosh)},
	"Add":                          {Infer: broadcastRule(0), Fold: binaryFolder(func(a, b float64) float64 { return a + b }), Is: RisesAll | Elementwise},
	"And":                          {Infer: broadcastRule(graph.Bool), Fold: comparisonFolder(func(a, b float64) bool { return a != 0 && b != 0 })},
	"ArgMax":                       {Infer: inferArgMax, Fold: foldArgMax, Refuse: "results are indices, not fp16 values; the host computes them"},
	"ArgMin":                       {Infer: inferArgMax, Fold: foldArgMax, Refuse: "results are indices, not fp16 values; the host computes them"},
	"Asin":                         {Infer: inferSameShape, Fold: unaryFolder(math.Asin)},
	"Asinh":                        {Infer: inferSameShape, Fold: unaryFolder(math.Asinh)},
	"Atan":                         {Infer: inferSameShape, Fold: unaryFolder(math.Atan), Refuse: "engine tables of atan are off by up to 2e-2"},
	"Atanh":                        {Infer: inferSameShape, Fold: unaryFolder(math.Atanh)},
	"AveragePool":                  {Infer: inferPool},
	"BatchNormalization":           {Infer: inferSameShape},
	"BitShift":                     {Infer: broadcastRule(0), Fold: foldBitShift},
	"BitwiseAnd":                   {Infer: broadcastRule(0), Fold: binaryFolder(func(a, b float64) float64 { return float64(int64(a) & int64(b)) })},
	"BitwiseNot":                   {Infer: inferSameShape, Fold: unaryFolder(func(x float64) float64 { return float64(^int64(x)) })},
	"BitwiseOr":                    {Infer: broadcastRule(0), Fold: binaryFolder(func(a, b float64) float64 { return float64(int64(a) | int64(b)) })},
	"BitwiseXor":                   {Infer: broadcastRule(0), Fold: binaryFolder(func(a, b float64) float64 { return float64(int64(a) ^ int64(b)) })},
	"Cast":                         {Infer: inferCast, Fold: foldCast, Is: Rises},
	"CastLike":                     {Infer: inferCast, Fold: foldCast},
	"Ceil":                         {Infer: inferSameShape, Fold: unaryFolder(math.Ceil), Is: Rises | Elementwise},
	"Celu":                         {Infer: inferSameShape, Is: Elementwise},
	"Clip":                         {Infer: inferSameShape, Fold: foldClip, Is: Rises | Elementwise | Narrow | Transparent},
	"Compress":                     {Infer: inferCompress, Fold: foldCompress, Is: Sizes},
	"Concat":                       {Infer: inferConcat, Fold: foldConcat, Is: RisesAll | Narrow},
	"ConstantOfShape":              {Infer: inferConstantOfShape, Fold: foldConstantOfShape},
	"Conv":                         {Infer: inferConv},
	"ConvTranspose":                {Infer: inferConvTranspose},
	"Cos":                          {Infer: inferSameShape, Fold: unaryFolder(math.Cos), Is: Elementwise},
	"Cosh":                         {Infer: inferSameShape, Fold: unaryFolder(math.Cosh)},
	"BlackmanWindow":               {Infer: inferAudioWindow, Fold: foldAudioWindow},
	"CumProd":                      {Infer: inferSameShape, Fold: foldCumSum},
	"CumSum":                       {Infer: inferSameShape, Fold: foldCumSum},
	"DepthToSpace":                 {Infer: inferDepthToSpace, Is: Narrow},
	"DequantizeLinear":             {Infer: inferDequantizeLinear, Fold: foldDequantizeLinear},
	"DeformColumns":                {Infer: inferDeformColumns, Fold: foldDeformColumns, Refuse: "operator samples between pixels at computed positions"},
	"Det":                          {Infer: inferDeterminant, Fold: foldDeterminant},
	"Div":                          {Infer: broadcastRule(0), Fold: typedBinaryFolder(divideValues), Is: RisesAll | Elementwise},
	"Dropout":                      {Infer: inferSameShape, Fold: foldView, Is: Keeps},
	"Einsum":                       {Infer: inferEinsum},
	"Elu":                          {Infer: inferSameShape, Is: Elementwise | Transparent},
	"Equal":                        {Infer: broadcastRule(graph.Bool), Fold: comparisonFolder(func(a, b float64) bool { return a == b })},
	"Erf":                          {Infer: inferSameShape, Fold: unaryFolder(math.Erf), Range: signed, Is: Elementwise | Transparent},
	"Exp":                          {Infer: inferSameShape, Fold: unaryFolder(math.Exp), Range: positive, Is: Elementwise | Transparent},
	"Expand":                       {Infer: inferExpand, Fold: foldExpand, Is: Rises | Narrow},
	"EyeLike":                      {Infer: inferGeneratedShape, Fold: foldEye},
	"FastGelu":                     {Infer: inferSameShape, Is: Elementwise},
	"Flatten":                      {Infer: inferFlatten, Fold: foldView, Is: Keeps | Rises | Narrow},
	"Floor":                        {Infer: inferSameShape, Fold: unaryFolder(math.Floor), Is: Rises | Elementwise},
	"GRU":                          {Infer: inferRecurrentLayer},
	"Gather":                       {Infer: inferGather, Fold: foldGather, Is: Picks | Rises | Narrow},
	"GatherElements":               {Infer: inputShapeRule(1), Fold: foldGatherElements, Is: Picks},
	"GatherND":                     {Infer: inferGatherND, Fold: foldGatherND, Is: Picks},
	"Gelu":                         {Infer: inferSameShape, Is: Elementwise | Transparent},
	"Gemm":                         {Infer: inferGemm},
	"GlobalAveragePool":            {Infer: inferGlobalPool},
	"GlobalLpPool":                 {Infer: inferGlobalPool},
	"GlobalMaxPool":                {Infer: inferGlobalPool},
	"Greater":                      {Infer: broadcastRule(graph.Bool), Fold: comparisonFolder(func(a, b float64) bool { return a > b })},
	"GreaterOrEqual":               {Infer: broadcastRule(graph.Bool), Fold: comparisonFolder(func(a, b float64) bool { return a >= b })},
	"GridSample":                   {Infer: inferGridSample, Fold: foldGridSample, Refuse: "operator samples between pixels at computed positions"},
	"GroupNormalization":           {Infer: inferSameShape},
	"HardSigmoid":                  {Infer: inferSameShape, Sized: foldHardSigmoid, Range: unit, Is: Elementwise | Transparent},
	"HardSwish":                    {Infer: inferSameShape, Is: Elementwise | Transparent},
	"HammingWindow":                {Infer: inferAudioWindow, Fold: foldAudioWindow},
	"HannWindow":                   {Infer: inferAudioWindow, Fold: foldAudioWindow},
	"Hardmax":                      {Infer: inferSameShape, Fold: foldHardmax},
	"Identity":                     {Infer: inferSameShape, Fold: foldView, Is: Keeps | Rises | Elementwise | Narrow | Transparent},
	"InstanceNormalization":        {Infer: inferSameShape},
	"Inverse":                      {Infer: inferSameShape, Fold: foldInverse},
	"IsInf":                        {Infer: inferBoolResult, Fold: foldIsNaNOrInf},
	"IsNaN":                        {Infer: inferBoolResult, Fold: foldIsNaNOrInf},
	"LRN":                          {Infer: inferSameShape},
	"LSTM":                         {Infer: inferRecurrentLayer},
	"LayerNormalization":           {Infer: inferLayerNorm},
	"LeakyRelu":                    {Infer: inferSameShape, Is: Elementwise | Transparent},
	"Less":                         {Infer: broadcastRule(graph.Bool), Fold: comparisonFolder(func(a, b float64) bool { return a < b })},
	"LessOrEqual":                  {Infer: broadcastRule(graph.Bool), Fold: comparisonFolder(func(a, b float64) bool { return a <= b })},
	"Linear":                       {Infer: inferLinear},
	"Log":                          {Infer: inferSameShape, Fold: unaryFolder(math.Log), Is: Elementwise | Transparent},
	"LogSoftmax":                   {Infer: inferSameShape, Sized: foldSoftmax},
	"LpNormalization":              {Infer: inferSameShape},
	"LpPool":                       {Infer: inferPool},
	"MatMul":                       {Infer: inferMatMul},
	"Max":                          {Infer: broadcastRule(0), Fold: binaryFolder(func(a, b float64) float64 { return max(a, b) }), Is: RisesAll | Elementwise | Narrow},
	"MaxPool":                      {Infer: inferPool, Is: Narrow},
	"MaxPoolIndices":               {Infer: inferPoolIndices, Fold: foldPoolIndices, Refuse: "results are indices, not fp16 values; the host computes them"},
	"MaxRoiPool":                   {Infer: inferMaxRoiPool, Fold: foldMaxRoiPool, Refuse: "regions are at computed positions"},
	"Mean":                         {Infer: broadcastRule(0), Sized: foldMean, Is: Elementwise},
	"MeanVarianceNormalization":    {Infer: inferSameShape},
	"MelWeightMatrix":              {Infer: inferMelWeightMatrix, Fold: foldMelWeightMatrix},
	"Min":                          {Infer: broadcastRule(0), Fold: binaryFolder(func(a, b float64) float64 { return min(a, b) }), Is: RisesAll | Elementwise | Narrow},
	"Mish":                         {Infer: inferSameShape, Is: Elementwise},
	"Mod":                          {Infer: broadcastRule(0), Fold: foldMod},
	"Mul":                          {Infer: broadcastRule(0), Fold: binaryFolder(func(a, b float64) float64 { return a * b }), Is: RisesAll | Elementwise},
	"Neg":                          {Infer: inferSameShape, Fold: unaryFolder(func(x float64) float64 { return -x }), Is: Rises | Elementwise | Transparent},
	"NonMaxSuppression":            {Infer: inferNonMaxSuppression, Fold: foldNonMaxSuppression, Is: Sizes, Refuse: "number of result rows depends on values"},
	"NonZero":                      {Infer: inferNonZero, Fold: foldNonZero, Is: Sizes, Refuse: "result shape depends on values, so the host computes the node"},
	"Not":                          {Infer: inferSameShape, Fold: unaryFolder(func(x float64) float64 { return graph.Truth(x == 0) })},
	"OneHot":                       {Infer: inferOneHot, Fold: foldOneHot},
	"Or":                           {Infer: broadcastRule(graph.Bool), Fold: comparisonFolder(func(a, b float64) bool { return a != 0 || b != 0 })},
	"PRelu":                        {Infer: inferSameShape},
	"Pad":                          {Infer: inferPad, Fold: foldPad, Is: Narrow},
	"Pow":                          {Infer: broadcastRule(0), Fold: binaryFolder(math.Pow), Is: Elementwise},
	"BipolarQuant":                 {Infer: inferSameShape},
	"Quant":                        {Infer: inferSameShape, Fold: foldQuant},
	"QuantizeLinear":               {Infer: inferQuantizeLinear, Fold: foldQuantizeLinear},
	"QuickGelu":                    {Infer: inferSameShape, Is: Elementwise},
	"RMSNormalization":             {Infer: inferSameShape},
	"RNN":                          {Infer: inferRecurrentLayer},
	"RandomNormal":                 {Infer: inferGeneratedShape, Fold: foldRandomNumbers},
	"RandomNormalLike":             {Infer: inferGeneratedShape, Fold: foldRandomNumbers},
	"RandomUniform":                {Infer: inferGeneratedShape, Fold: foldRandomNumbers},
	"RandomUniformLike":            {Infer: inferGeneratedShape, Fold: foldRandomNumbers},
	"Range":                        {Infer: inferRange, Fold: foldRange},
	"Reciprocal":                   {Infer: inferSameShape, Fold: unaryFolder(func(x float64) float64 { return 1 / x }), Is: Elementwise},
	"ReduceL1":                     {Infer: inferReduction, Sized: foldReduction},
	"ReduceL2":                     {Infer: inferReduction, Sized: foldReduction},
	"ReduceLogSum":                 {Infer: inferReduction, Sized: foldReduction},
	"ReduceLogSumExp":              {Infer: inferReduction, Sized: foldReduction},
	"ReduceMax":                    {Infer: inferReduction, Fold: foldReduction, Is: Rises | Narrow},
	"ReduceMean":                   {Infer: inferReduction, Fold: foldReduction},
	"ReduceMin":                    {Infer: inferReduction, Fold: foldReduction, Is: Rises | Narrow},
	"ReduceProd":                   {Infer: inferReduction, Fold: foldReduction, Is: Rises},
	"ReduceSum":                    {Infer: inferReduction, Fold: foldReduction, Is: Rises},
	"ReduceSumSquare":              {Infer: inferReduction, Sized: foldReduction},
	"Relu":                         {Infer: inferSameShape, Fold: unaryFolder(func(x float64) float64 { return max(0, x) }), Range: positive, Is: Elementwise | Narrow | Transparent},
	"Reshape":                      {Infer: inferReshape, Fold: foldView, Is: Keeps | Rises | Narrow},
	"Resize":                       {Infer: inferResize, Is: Narrow},
	"ReverseSequence":              {Infer: inferSameShape, Fold: foldReverseSequence},
	"RoiAlign":                     {Infer: inferRoiAlign, Fold: foldRoiAlign},
	"Round":                        {Infer: inferSameShape, Fold: unaryFolder(math.RoundToEven), Is: Rises, Refuse: "engine tables do not round halves to even"},
	"RoundSmall":                   {Infer: inferSameShape},
	"Rsqrt":                        {Infer: inferSameShape},
	"ScaledLog":                    {Infer: inferSameShape},
	"Scatter":                      {Infer: inferSameShape, Fold: foldScatterElements},
	"ScatterElements":              {Infer: inferSameShape, Fold: foldScatterElements, Refuse: "operator writes at computed positions"},
	"ScatterND":                    {Infer: inferSameShape, Fold: foldScatterND, Refuse: "operator writes at computed positions"},
	"Selu":                         {Infer: inferSameShape, Is: Elementwise},
	"Shape":                        {Infer: inferShapeOrSize, Fold: foldShapeOrSize},
	"Shrink":                       {Infer: inferSameShape},
	"SiLU":                         {Infer: inferSameShape, Is: Elementwise},
	"Sigmoid":                      {Infer: inferSameShape, Fold: unaryFolder(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }), Range: unit, Is: Elementwise | Transparent},
	"Sign":                         {Infer: inferSameShape, Fold: unaryFolder(func(x float64) float64 { return graph.Truth(x > 0) - graph.Truth(x < 0) }), Is: Elementwise},
	"SimplifiedLayerNormalization": {Infer: inferSameShape},
	"Sin":                          {Infer: inferSameShape, Fold: unaryFolder(math.Sin), Is: Elementwise},
	"Sinh":                         {Infer: inferSameShape, Fold: unaryFolder(math.Sinh)},
	"Size":                         {Infer: inferShapeOrSize, Fold: foldShapeOrSize},
	"Slice":                        {Infer: inferSlice, Fold: foldSlice, Is: Rises | Narrow},
	"Softmax":                      {Infer: inferSameShape, Sized: foldSoftmax, Range: unit},
	"Softplus":                     {Infer: inferSameShape, Is: Elementwise | Transparent},
	"Softsign":                     {Infer: inferSameShape, Is: Elementwise},
	"SpaceToDepth":                 {Infer: inferSpaceToDepth, Is: Narrow},
	"Split":                        {Infer: inferSplit, Fold: foldSplit, Is: Narrow},
	"Sqrt":                         {Infer: inferSameShape, Fold: unaryFolder(math.Sqrt), Range: positive, Is: Rises | Elementwise | Transparent},
	"Squeeze":                      {Infer: inferSqueeze, Fold: foldView, Is: Keeps | Rises | Narrow},
	"Sub":                          {Infer: broadcastRule(0), Fold: binaryFolder(func(a, b float64) float64 { return a - b }), Is: RisesAll | Elementwise},
	"Sum":                          {Infer: broadcastRule(0), Fold: binaryFolder(func(a, b float64) float64 { return a + b }), Is: Elementwise},
	"Swish":                        {Infer: inferSameShape, Is: Elementwise | Transparent},
	"Tan":                          {Infer: inferSameShape, Fold: unaryFolder(math.Tan)},
	"Tanh":                         {Infer: inferSameShape, Fold: unaryFolder(math.Tanh), Range: signed, Is: Elementwise | Transparent},
	"ThresholdedRelu":              {Infer: inferSameShape, Is: Elementwise},
	"Tile":                         {Infer: inferTile, Fold: foldTile, Is: Rises | Narrow},
	"TopK":                         {Infer: inferTopK, Fold: foldTopK, Refuse: "sorting runs on the host"},
	"Transpose":                    {Infer: inferTranspose, Fold: foldTranspose, Is: Rises | Narrow},
	"Trilu":                        {Infer: inferSameShape, Fold: foldTrilu},
	"Unique":                       {Infer: inferUnique, Fold: foldUnique, Is: Sizes},
	"Unsqueeze":                    {Infer: inferUnsqueeze, Fold: foldView, Is: Keeps | Rises | Narrow},
	"Upsample":                     {Infer: inferResize},
	"Where":                        {Infer: inferWhere, Fold: foldWhere},
	"Xor":                          {Infer: broadcastRule(graph.Bool), Fold: comparisonFolder(func(a, b float64) bool { return (a != 0) != (b != 0) })},
}
