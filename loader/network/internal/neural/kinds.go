package neural

import (
	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/graph"
)

// A kind describes a type of layers.
type kind struct {
	name        string                        // as the format names it
	rule        func(x *layer) []*graph.Value // converts a layer; nil if layers of the type are not supported
	least, most int                           // numbers of inputs that the rule expects; most is -1 for any
	// spread says that the rule counts axes as the format does, so that tensors must have all five with the first
	// mapping of arrays.
	spread bool
}

// kinds holds the types of layers by the number of the field that has their parameters.
var kinds = newKinds()

func newKinds() map[protowire.Number]kind {
	t := map[protowire.Number]kind{
		100: {"convolution", addConvolution, 1, 2, false},
		120: {"pooling", addPooling, 1, 1, false},
		130: {"activation", addActivation, 1, 1, false},
		140: {"innerProduct", addInnerProduct, 1, 1, false},
		150: {"embedding", addEmbedding, 1, 1, false},
		160: {"batchnorm", addBatchNorm, 1, 1, false},
		165: {"mvn", addMeanVarianceNorm, 1, 1, false},
		170: {"l2normalize", addL2Norm, 1, 1, false},
		175: {"softmax", addSoftmax, 1, 1, false},
		180: {"lrn", addLocalNorm, 1, 1, false},
		190: {"crop", addCrop, 1, 2, false},
		200: {"padding", addPadding, 1, 1, false},
		210: {"upsample", addUpsample, 1, 1, false},
		211: {"resizeBilinear", addResizeBilinear, 1, 1, false},
		220: {"unary", addUnary, 1, 1, false},
		230: {"add", newSumRule("Add"), 1, -1, false},
		231: {"multiply", newSumRule("Mul"), 1, -1, false},
		240: {"average", newManyRule("Mean"), 1, -1, false},
		245: {"scale", addScale, 1, 1, false},
		250: {"bias", addBias, 1, 1, false},
		260: {"max", newManyRule("Max"), 1, -1, false},
		261: {"min", newManyRule("Min"), 1, -1, false},
		270: {"dot", addDotProduct, 2, 2, false},
		280: {"reduce", addReduce, 1, 1, false},
		290: {"loadConstant", addLoadConstant, 0, 0, false},
		300: {"reshape", addReshape, 1, 1, false},
		301: {"flatten", addFlatten, 1, 1, false},
		310: {"permute", addPermute, 1, 1, false},
		320: {"concat", addConcat, 1, -1, false},
		330: {"split", addSplit, 1, 1, false},
		340: {"sequenceRepeat", addSequenceRepeat, 1, 1, false},
		345: {"reorganizeData", addReorganizeData, 1, 1, false},
		350: {"slice", addSlice, 1, 1, false},
		400: {"simpleRecurrent", addRecurrent, 1, 2, false},
		410: {"gru", addGRU, 1, 2, false},
		420: {"uniDirectionalLSTM", addLSTM, 1, 3, false},

		600:  {"copy", newUnaryRule("Identity"), 1, 1, false},
		660:  {"clip", addClip, 1, 1, false},
		700:  {"exp2", addExp2, 1, 1, false},
		795:  {"gelu", addGELU, 1, 1, false},
		815:  {"equal", newComparisonRule("Equal", 1), 1, 2, false},
		820:  {"notEqual", addNotEqual, 1, 2, false},
		825:  {"lessThan", newComparisonRule("Less", 2), 1, 2, false},
		827:  {"lessEqual", newComparisonRule("LessOrEqual", 2), 1, 2, false},
		830:  {"greaterThan", newComparisonRule("Greater", 2), 1, 2, false},
		832:  {"greaterEqual", newComparisonRule("GreaterOrEqual", 2), 1, 2, false},
		840:  {"logicalOr", newLogicalRule("Or"), 2, 2, false},
		845:  {"logicalXor", newLogicalRule("Xor"), 2, 2, false},
		850:  {"logicalNot", newLogicalRule("Not"), 1, 1, false},
		855:  {"logicalAnd", newLogicalRule("And"), 2, 2, false},
		870:  {"minBroadcastable", newManyRule("Min"), 2, -1, false},
		875:  {"maxBroadcastable", newManyRule("Max"), 2, -1, false},
		880:  {"addBroadcastable", newManyRule("Add"), 2, -1, false},
		885:  {"powBroadcastable", newManyRule("Pow"), 2, 2, false},
		890:  {"divideBroadcastable", newManyRule("Div"), 2, 2, false},
		895:  {"floorDivBroadcastable", addFloorDivision, 2, 2, false},
		900:  {"multiplyBroadcastable", newManyRule("Mul"), 2, -1, false},
		905:  {"subtractBroadcastable", newManyRule("Sub"), 2, 2, false},
		865:  {"modBroadcastable", newManyRule("Mod"), 2, 2, false},
		920:  {"tile", addTile, 1, 1, true},
		940:  {"gatherND", addGatherND, 2, 2, true},
		945:  {"scatterND", addScatterND, 3, 3, true},
		952:  {"gatherAlongAxis", addGatherAlongAxis, 2, 2, true},
		954:  {"scatterAlongAxis", addScatterAlongAxis, 3, 3, true},
		1005: {"slidingWindows", addSlidingWindows, 1, 1, true},
		1015: {"topK", addTopK, 1, 1, true},
		1315: {"matrixBandPart", addBandPart, 1, 1, true},
		1320: {"lowerTriangular", newTriangleRule(false), 1, 1, true},
		1325: {"upperTriangular", newTriangleRule(true), 1, 1, true},
		1450: {"oneHot", addOneHot, 1, 1, true},
		1461: {"argSort", addArgSort, 1, 1, true},
		925:  {"stack", addStack, 1, -1, true},
		930:  {"gather", addGather, 2, 2, true},
		950:  {"softmaxND", addSoftmaxND, 1, 1, true},
		960:  {"reverse", addReverse, 1, 1, true},
		975:  {"splitND", addSplitND, 1, 1, true},
		980:  {"concatND", addConcatND, 1, -1, true},
		985:  {"transpose", addTranspose, 1, 1, true},
		995:  {"sliceStatic", addSliceStatic, 1, 1, true},
		1020: {"argMin", newArgRule("ArgMin"), 1, 1, true},
		1025: {"argMax", newArgRule("ArgMax"), 1, 1, true},
		1040: {"embeddingND", addEmbeddingND, 1, 1, true},
		1045: {"batchedMatmul", addBatchedMatMul, 1, 2, true},
		1070: {"loadConstantND", addLoadConstantND, 0, 0, true},
		1080: {"fillLike", addFillLike, 1, 1, true},
		1085: {"fillStatic", addFillStatic, 0, 0, true},
		1105: {"broadcastToStatic", addBroadcastToStatic, 1, 1, true},
		1100: {"broadcastToLike", addBroadcastToLike, 2, 2, true},
		1120: {"squeeze", addSqueeze, 1, 1, true},
		1125: {"expandDims", addExpandDims, 1, 1, true},
		1130: {"flattenTo2D", addFlattenTo2D, 1, 1, true},
		1135: {"reshapeLike", addReshapeLike, 2, 2, true},
		1140: {"reshapeStatic", addReshapeStatic, 1, 1, true},
		1150: {"rankPreservingReshape", addRankPreservingReshape, 1, 1, true},
		1155: {"constantPad", addConstantPad, 1, 1, true},
		1330: {"whereBroadcastable", addWhere, 3, 3, true},
		1350: {"layerNormalization", addLayerNorm, 1, 1, true},
		1455: {"cumSum", addCumSum, 1, 1, true},
		1460: {"clampedReLU", addClampedReLU, 1, 1, false},
	}
	for num, op := range map[protowire.Number][2]string{
		665: {"ceil", "Ceil"}, 670: {"floor", "Floor"}, 680: {"sign", "Sign"}, 685: {"round", "Round"},
		710: {"sin", "Sin"}, 715: {"cos", "Cos"}, 720: {"tan", "Tan"}, 730: {"asin", "Asin"}, 735: {"acos", "Acos"}, 740: {"atan", "Atan"},
		750: {"sinh", "Sinh"}, 755: {"cosh", "Cosh"}, 760: {"tanh", "Tanh"}, 770: {"asinh", "Asinh"}, 775: {"acosh", "Acosh"}, 780: {"atanh", "Atanh"},
		790: {"erf", "Erf"},
	} {
		t[num] = kind{op[0], newUnaryRule(op[1]), 1, 1, false}
	}
	for num, op := range map[protowire.Number][2]string{
		1250: {"reduceL1", "ReduceL1"}, 1255: {"reduceL2", "ReduceL2"}, 1260: {"reduceMax", "ReduceMax"}, 1265: {"reduceMin", "ReduceMin"},
		1270: {"reduceSum", "ReduceSum"}, 1275: {"reduceProd", "ReduceProd"}, 1280: {"reduceMean", "ReduceMean"},
		1285: {"reduceLogSum", "ReduceLogSum"}, 1290: {"reduceSumSquare", "ReduceSumSquare"}, 1295: {"reduceLogSumExp", "ReduceLogSumExp"},
	} {
		t[num] = kind{op[0], newReduceRule(op[1]), 1, 1, true}
	}
	// These types have no rule: their results depend on values or on chance, their meaning is not certain,
	// or they run code that the file does not have.
	for num, name := range map[protowire.Number]string{
		212: "cropResize", 430: "biDirectionalLSTM", 500: "custom", 605: "branch", 615: "loop", 620: "loopBreak", 625: "loopContinue",
		635: "rangeStatic", 640: "rangeDynamic", 935: "scatter",
		965: "reverseSeq", 1000: "sliceDynamic", 1065: "getShape", 1090: "fillDynamic",
		1110: "broadcastToDynamic", 1145: "reshapeDynamic", 1170: "randomNormalLike", 1175: "randomNormalStatic", 1180: "randomNormalDynamic",
		1190: "randomUniformLike", 1195: "randomUniformStatic", 1200: "randomUniformDynamic", 1210: "randomBernoulliLike", 1215: "randomBernoulliStatic",
		1220: "randomBernoulliDynamic", 1230: "categoricalDistribution", 1313: "whereNonZero",
		1400: "NonMaximumSuppression", 1465: "pooling3d", 1466: "globalPooling3d",
		1470: "sliceBySize", 1471: "convolution3d",
	} {
		t[num] = kind{name: name}
	}
	return t
}
