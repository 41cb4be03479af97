package ops

import (
	"math"

	"anesim/loader/network/graph"
)

// An Operator is what is known of an operator, whether the engine has a form for it or not.
// How layers are made of it stands elsewhere.
type Operator struct {
	// Infer finds the shapes and types of a node's results.
	Infer Rule
	// Fold works a node out on constants, for the reader of a file and for the host on values.
	Fold Folder
	// Sized works out a node of tensors whose size depends on values. The engine computes all
	// other nodes of the operator, constants too: the host's numbers are not fp16's.
	Sized Folder
	// Range is the least and the largest element of a result, nil if there are no bounds.
	Range *graph.Range
	Is    Property
	// Refuse says why the operator is no layer, if more is to be said than that.
	Refuse string
}

// A Rule works out the results of a node from what is known of its inputs.
type Rule func(n *graph.Node) ([]graph.Result, error)

// A Folder works out the results of a node whose inputs are constants. It is nil without an error
// for a form of the operator that is not worked out.
type Folder func(n *graph.Node, res []graph.Result) ([]*graph.Const, error)

// A Property is something that several operators have in common.
type Property uint

// The properties.
const (
	Keeps       Property = 1 << iota // leaves the values in their order
	Picks                            // reads only what it picks of its first input
	Sizes                            // the size of its results depends on the values it reads
	Rises                            // results rise or fall with the first operand; the others are constants
	RisesAll                         // results rise or fall with every operand
	Elementwise                      // an element of the result depends on those in its place alone
	Narrow                           // whole numbers of eight bits, which fp16 has, make such numbers
	Transparent                      // a transpose in front of it may as well stand behind it
)

// Has reports whether the operator has a property.
func (o *Operator) Has(p Property) bool { return o.Is&p != 0 }

// Host is what works the operator out on values, nil if nothing does.
func (o *Operator) Host() Folder {
	if o.Fold != nil {
		return o.Fold
	}
	return o.Sized
}

// Of finds an operator by its name; of an unknown one nothing is known.
func Of(op string) *Operator {
	if o := table[op]; o != nil {
		return o
	}
	return &unknown
}

var unknown Operator

// table are the operators of ONNX that anything is known of, and some that the readers of
// other formats and the patterns add: Linear, Rsqrt, RoundSmall, ScaledLog, QuickGelu, SiLU.
var table = map[string]*Operator{
	"Abs":                          {Infer: sameShape, Fold: scalar(math.Abs), Range: positive, Is: Elementwise | Transparent},
	"Acos":                         {Infer: sameShape, Fold: scalar(math.Acos)},
	"Acosh":                        {Infer: sameShape, Fold: scalar(math.Acosh)},
	"Add":                          {Infer: broadcastShape(0), Fold: pair(func(a, b float64) float64 { return a + b }), Is: RisesAll | Elementwise},
	"And":                          {Infer: broadcastShape(graph.Bool), Fold: compare(func(a, b float64) bool { return a != 0 && b != 0 })},
	"ArgMax":                       {Infer: argShape, Fold: foldArg, Refuse: "it gives places, not fp16 values; the host does it"},
	"ArgMin":                       {Infer: argShape, Fold: foldArg, Refuse: "it gives places, not fp16 values; the host does it"},
	"Asin":                         {Infer: sameShape, Fold: scalar(math.Asin)},
	"Asinh":                        {Infer: sameShape, Fold: scalar(math.Asinh)},
	"Atan":                         {Infer: sameShape, Fold: scalar(math.Atan), Refuse: "the engine's tables of it are off by up to 2e-2"},
	"Atanh":                        {Infer: sameShape, Fold: scalar(math.Atanh)},
	"AveragePool":                  {Infer: poolShape},
	"BatchNormalization":           {Infer: sameShape},
	"BitwiseAnd":                   {Infer: broadcastShape(0), Fold: pair(func(a, b float64) float64 { return float64(int64(a) & int64(b)) })},
	"BitwiseNot":                   {Infer: sameShape, Fold: scalar(func(x float64) float64 { return float64(^int64(x)) })},
	"BitwiseOr":                    {Infer: broadcastShape(0), Fold: pair(func(a, b float64) float64 { return float64(int64(a) | int64(b)) })},
	"BitwiseXor":                   {Infer: broadcastShape(0), Fold: pair(func(a, b float64) float64 { return float64(int64(a) ^ int64(b)) })},
	"Cast":                         {Infer: castShape, Fold: foldCast, Is: Rises},
	"CastLike":                     {Infer: castShape, Fold: foldCast},
	"Ceil":                         {Infer: sameShape, Fold: scalar(math.Ceil), Is: Rises | Elementwise},
	"Celu":                         {Infer: sameShape, Is: Elementwise},
	"Clip":                         {Infer: sameShape, Fold: foldClip, Is: Rises | Elementwise | Narrow | Transparent},
	"Compress":                     {Infer: compressShape, Fold: foldCompress, Is: Sizes},
	"Concat":                       {Infer: concatOf, Fold: foldConcat, Is: RisesAll | Narrow},
	"ConstantOfShape":              {Infer: filledShape, Fold: foldConstantOfShape},
	"Conv":                         {Infer: convShapeOf},
	"ConvTranspose":                {Infer: convTransposeShape},
	"Cos":                          {Infer: sameShape, Fold: scalar(math.Cos), Is: Elementwise},
	"Cosh":                         {Infer: sameShape, Fold: scalar(math.Cosh)},
	"CumSum":                       {Infer: sameShape, Fold: foldCumSum},
	"DepthToSpace":                 {Infer: depthToSpaceShape, Is: Narrow},
	"DequantizeLinear":             {Infer: dequantizeShape, Fold: foldDequantize},
	"Div":                          {Infer: broadcastShape(0), Fold: whole(quotient), Is: RisesAll | Elementwise},
	"Dropout":                      {Infer: sameShape, Fold: foldView, Is: Keeps},
	"Einsum":                       {Infer: einsumShape},
	"Elu":                          {Infer: sameShape, Is: Elementwise | Transparent},
	"Equal":                        {Infer: broadcastShape(graph.Bool), Fold: compare(func(a, b float64) bool { return a == b })},
	"Erf":                          {Infer: sameShape, Fold: scalar(math.Erf), Range: signed, Is: Elementwise | Transparent},
	"Exp":                          {Infer: sameShape, Fold: scalar(math.Exp), Range: positive, Is: Elementwise | Transparent},
	"Expand":                       {Infer: expandShape, Fold: foldExpand, Is: Rises | Narrow},
	"EyeLike":                      {Infer: madeShape, Fold: foldEye},
	"FastGelu":                     {Infer: sameShape, Is: Elementwise},
	"Flatten":                      {Infer: flattenShape, Fold: foldView, Is: Keeps | Rises | Narrow},
	"Floor":                        {Infer: sameShape, Fold: scalar(math.Floor), Is: Rises | Elementwise},
	"GRU":                          {Infer: recurrentShape},
	"Gather":                       {Infer: gatherShape, Fold: foldGather, Is: Picks | Rises | Narrow},
	"GatherElements":               {Infer: likeShape(1), Fold: foldGatherElements, Is: Picks},
	"GatherND":                     {Infer: gatherNDShape, Fold: foldGatherND, Is: Picks},
	"Gelu":                         {Infer: sameShape, Is: Elementwise | Transparent},
	"Gemm":                         {Infer: gemmShape},
	"GlobalAveragePool":            {Infer: globalShape},
	"GlobalLpPool":                 {Infer: globalShape},
	"GlobalMaxPool":                {Infer: globalShape},
	"Greater":                      {Infer: broadcastShape(graph.Bool), Fold: compare(func(a, b float64) bool { return a > b })},
	"GreaterOrEqual":               {Infer: broadcastShape(graph.Bool), Fold: compare(func(a, b float64) bool { return a >= b })},
	"GridSample":                   {Infer: gridShape, Fold: foldGridSample, Refuse: "it looks between pixels at computed places"},
	"GroupNormalization":           {Infer: sameShape},
	"HardSigmoid":                  {Infer: sameShape, Sized: foldHardSigmoid, Range: unit, Is: Elementwise | Transparent},
	"HardSwish":                    {Infer: sameShape, Is: Elementwise | Transparent},
	"Hardmax":                      {Infer: sameShape, Fold: foldHardmax},
	"Identity":                     {Infer: sameShape, Fold: foldView, Is: Keeps | Rises | Elementwise | Narrow | Transparent},
	"InstanceNormalization":        {Infer: sameShape},
	"IsInf":                        {Infer: truthShape, Fold: foldIs},
	"IsNaN":                        {Infer: truthShape, Fold: foldIs},
	"LRN":                          {Infer: sameShape},
	"LSTM":                         {Infer: recurrentShape},
	"LayerNormalization":           {Infer: layerNormShape},
	"LeakyRelu":                    {Infer: sameShape, Is: Elementwise | Transparent},
	"Less":                         {Infer: broadcastShape(graph.Bool), Fold: compare(func(a, b float64) bool { return a < b })},
	"LessOrEqual":                  {Infer: broadcastShape(graph.Bool), Fold: compare(func(a, b float64) bool { return a <= b })},
	"Linear":                       {Infer: linearShape},
	"Log":                          {Infer: sameShape, Fold: scalar(math.Log), Is: Elementwise | Transparent},
	"LogSoftmax":                   {Infer: sameShape, Sized: foldSoftmax},
	"Loop":                         {Refuse: "a loop; the host runs it"},
	"LpNormalization":              {Infer: sameShape},
	"LpPool":                       {Infer: poolShape},
	"MatMul":                       {Infer: matmulShape},
	"Max":                          {Infer: broadcastShape(0), Fold: pair(func(a, b float64) float64 { return max(a, b) }), Is: RisesAll | Elementwise | Narrow},
	"MaxPool":                      {Infer: poolShape, Is: Narrow},
	"Mean":                         {Infer: broadcastShape(0), Sized: foldMean, Is: Elementwise},
	"MeanVarianceNormalization":    {Infer: sameShape},
	"Min":                          {Infer: broadcastShape(0), Fold: pair(func(a, b float64) float64 { return min(a, b) }), Is: RisesAll | Elementwise | Narrow},
	"Mish":                         {Infer: sameShape, Is: Elementwise},
	"Mod":                          {Infer: broadcastShape(0), Fold: whole(remainder)},
	"Mul":                          {Infer: broadcastShape(0), Fold: pair(func(a, b float64) float64 { return a * b }), Is: RisesAll | Elementwise},
	"Neg":                          {Infer: sameShape, Fold: scalar(func(x float64) float64 { return -x }), Is: Rises | Elementwise | Transparent},
	"NonMaxSuppression":            {Infer: suppressionShape, Fold: foldSuppression, Is: Sizes, Refuse: "how many rows its result has depends on values"},
	"NonZero":                      {Infer: nonZeroShape, Fold: foldNonZero, Is: Sizes, Refuse: "the shape of its result depends on values; the host does it"},
	"Not":                          {Infer: sameShape, Fold: scalar(func(x float64) float64 { return graph.Truth(x == 0) })},
	"OneHot":                       {Infer: oneHotShape, Fold: foldOneHot},
	"Or":                           {Infer: broadcastShape(graph.Bool), Fold: compare(func(a, b float64) bool { return a != 0 || b != 0 })},
	"PRelu":                        {Infer: sameShape},
	"Pad":                          {Infer: padShape, Is: Narrow},
	"Pow":                          {Infer: broadcastShape(0), Fold: pair(math.Pow), Is: Elementwise},
	"QuantizeLinear":               {Infer: quantizeShape, Fold: foldQuantize},
	"QuickGelu":                    {Infer: sameShape, Is: Elementwise},
	"RMSNormalization":             {Infer: sameShape},
	"RNN":                          {Infer: recurrentShape},
	"RandomNormal":                 {Infer: madeShape, Fold: foldRandom},
	"RandomNormalLike":             {Infer: madeShape, Fold: foldRandom},
	"RandomUniform":                {Infer: madeShape, Fold: foldRandom},
	"RandomUniformLike":            {Infer: madeShape, Fold: foldRandom},
	"Range":                        {Infer: rangeShape, Fold: foldRange},
	"Reciprocal":                   {Infer: sameShape, Fold: scalar(func(x float64) float64 { return 1 / x }), Is: Elementwise},
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
	"Relu":                         {Infer: sameShape, Fold: scalar(func(x float64) float64 { return max(0, x) }), Range: positive, Is: Elementwise | Narrow | Transparent},
	"Reshape":                      {Infer: reshapeShape, Fold: foldView, Is: Keeps | Rises | Narrow},
	"Resize":                       {Infer: resizeShape, Is: Narrow},
	"ReverseSequence":              {Infer: sameShape, Fold: foldReverse},
	"RoiAlign":                     {Infer: roiShape, Fold: foldRoiAlign},
	"Round":                        {Infer: sameShape, Fold: scalar(math.RoundToEven), Is: Rises, Refuse: "no table of it rounds halves to the even number"},
	"RoundSmall":                   {Infer: sameShape},
	"Rsqrt":                        {Infer: sameShape},
	"ScaledLog":                    {Infer: sameShape},
	"Scan":                         {Refuse: "a loop; the host runs it"},
	"Scatter":                      {Infer: sameShape, Fold: foldScatterElements},
	"ScatterElements":              {Infer: sameShape, Fold: foldScatterElements, Refuse: "it writes at places that values say"},
	"ScatterND":                    {Infer: sameShape, Fold: foldScatterND, Refuse: "it writes at places that values say"},
	"Selu":                         {Infer: sameShape, Is: Elementwise},
	"Shape":                        {Infer: sizeShape, Fold: foldSize},
	"Shrink":                       {Infer: sameShape},
	"SiLU":                         {Infer: sameShape, Is: Elementwise},
	"Sigmoid":                      {Infer: sameShape, Fold: scalar(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }), Range: unit, Is: Elementwise | Transparent},
	"Sign":                         {Infer: sameShape, Fold: scalar(func(x float64) float64 { return graph.Truth(x > 0) - graph.Truth(x < 0) }), Is: Elementwise},
	"SimplifiedLayerNormalization": {Infer: sameShape},
	"Sin":                          {Infer: sameShape, Fold: scalar(math.Sin), Is: Elementwise},
	"Sinh":                         {Infer: sameShape, Fold: scalar(math.Sinh)},
	"Size":                         {Infer: sizeShape, Fold: foldSize},
	"Slice":                        {Infer: sliceShape, Fold: foldSlice, Is: Rises | Narrow},
	"Softmax":                      {Infer: sameShape, Sized: foldSoftmax, Range: unit},
	"Softplus":                     {Infer: sameShape, Is: Elementwise | Transparent},
	"Softsign":                     {Infer: sameShape, Is: Elementwise},
	"SpaceToDepth":                 {Infer: spaceToDepthShape, Is: Narrow},
	"Split":                        {Infer: splitShape, Fold: foldSplit, Is: Narrow},
	"Sqrt":                         {Infer: sameShape, Fold: scalar(math.Sqrt), Range: positive, Is: Rises | Elementwise | Transparent},
	"Squeeze":                      {Infer: squeezeShape, Fold: foldView, Is: Keeps | Rises | Narrow},
	"Sub":                          {Infer: broadcastShape(0), Fold: pair(func(a, b float64) float64 { return a - b }), Is: RisesAll | Elementwise},
	"Sum":                          {Infer: broadcastShape(0), Fold: pair(func(a, b float64) float64 { return a + b }), Is: Elementwise},
	"Swish":                        {Infer: sameShape, Is: Elementwise | Transparent},
	"Tan":                          {Infer: sameShape, Fold: scalar(math.Tan)},
	"Tanh":                         {Infer: sameShape, Fold: scalar(math.Tanh), Range: signed, Is: Elementwise | Transparent},
	"ThresholdedRelu":              {Infer: sameShape, Is: Elementwise},
	"Tile":                         {Infer: tileShape, Fold: foldTile, Is: Rises | Narrow},
	"TopK":                         {Infer: topKShape, Fold: foldTopK, Refuse: "it sorts; the host does it"},
	"Transpose":                    {Infer: transposeShape, Fold: foldTranspose, Is: Rises | Narrow},
	"Trilu":                        {Infer: sameShape, Fold: foldTrilu},
	"Unique":                       {Infer: uniqueShape, Fold: foldUnique, Is: Sizes},
	"Unsqueeze":                    {Infer: unsqueezeShape, Fold: foldView, Is: Keeps | Rises | Narrow},
	"Upsample":                     {Infer: resizeShape},
	"Where":                        {Infer: whereShape, Fold: foldWhere},
	"Xor":                          {Infer: broadcastShape(graph.Bool), Fold: compare(func(a, b float64) bool { return (a != 0) != (b != 0) })},
}
