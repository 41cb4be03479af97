package settle

import (
	"strconv"
	"strings"
	"testing"

	"anesim/internal/network/graph"
)

// TestInOthers holds which nodes an operator is stated in, and what that makes of its results, or
// why there are none. Nodes in brackets are constants, those in square brackets state one in turn.
func TestInOthers(t *testing.T) {
	whole := func(v int64) *graph.Attr { return &graph.Attr{Int: v} }
	text := func(s string) *graph.Attr { return &graph.Attr{Text: s} }
	list := graph.ListOf
	for _, c := range []struct {
		node   string
		a      attributes
		shapes string // of the inputs; a constant has its value behind a colon, whole numbers a type before it
		want   string
	}{
		// Products.
		{"y = com.microsoft.FusedMatMul a b", attributes{"transB": whole(1), "alpha": newFloatAttr(0.5)}, "a 2x3; b 4x3", "Transpose MatMul Mul: [2 4] float32"},
		{"y = com.microsoft.FusedMatMul a b", nil, "a 2x3; b 3x4", "MatMul: [2 4] float32"},
		{"y = com.microsoft.FusedMatMul a b", attributes{"transA": whole(1)}, "a 3; b 3x4", "error: cannot transpose shape [3]; want at least 2 axes"},
		{"y = com.microsoft.FusedMatMul a b", attributes{"transBatchA": whole(1)}, "a 2x3; b 3x4", `error: attributes "transBatchA" and "transBatchB" are not supported`},
		{"y = com.microsoft.FusedConv x w b z", attributes{"activation": text("Relu")}, "x 1x2x4x4; w 3x2x1x1:1; b 3:1; z 1x3x4x4", "Conv Add Relu: [1 3 4 4] float32"},
		{"y = com.microsoft.FusedConv x w", nil, "x 1x2x4x4; w 3x2x1x1:1", "Conv: [1 3 4 4] float32"},
		{"y = com.microsoft.FusedConv x w - z", nil, "x 1x2x4x4; w 3x2x1x1:1; z 1x3x4x4", "Conv Add: [1 3 4 4] float32"},
		{"y = com.microsoft.FusedConv x w", attributes{"activation": text("Nonesuch")}, "x 1x2x4x4; w 3x2x1x1:1", `error: operator Nonesuch is not modelled`},
		{"y = com.microsoft.FusedGemm a b", attributes{"activation": text("LeakyRelu"), "activation_alpha": newFloatAttr(0.5)}, "a 2x3; b 3x4", "Gemm LeakyRelu: [2 4] float32"},
		{"y = com.microsoft.FusedGemm a b", nil, "a 2x3; b 3x4", "Gemm: [2 4] float32"},
		{"y = com.microsoft.MatMulNBits x w s", attributes{"K": whole(4), "N": whole(2), "block_size": whole(16)}, "x 3x4; w uint8 2x1x8:17; s 2:0.5", "MatMul: [3 2] float32"},
		{"y = com.microsoft.MatMulNBits x w s z - b", attributes{"K": whole(4), "N": whole(2), "block_size": whole(16)}, "x 3x4; w uint8 2x1x8:17; s 2:0.5; z uint8 2:8; b 2:1", "MatMul Add: [3 2] float32"},
		{"y = com.microsoft.MatMulNBits x w s z", attributes{"K": whole(4), "N": whole(2), "block_size": whole(16)}, "x 3x4; w uint8 2x1x8:17; s 2:0.5; z uint8 2", "error: zero points are computed; want constants"},
		{"y = com.microsoft.MatMulNBits x w s - g", attributes{"K": whole(4), "N": whole(2), "block_size": whole(16)}, "x 3x4; w uint8 2x1x8:17; s 2:0.5; g int32 4:0", "error: group indices (g_idx) are not supported"},
		{"y = com.microsoft.MatMulNBits x w s", attributes{"K": whole(5), "N": whole(2), "bits": whole(3)}, "x 3x5; w uint8 2x1x8:17; s 2:0.5", "error: weights have 3 bits; want 2, 4 or 8"},
		{"y = com.microsoft.MatMulNBits x w s", attributes{"K": whole(1 << 15), "N": whole(1 << 15)}, "x 1x32768; w uint8 1:1; s 1:1", "error: " + graph.ErrBudget.Error()},
		// Norms and what runtimes put in front of them.
		{"y = com.microsoft.BiasGelu x b", nil, "x 2x4; b 4:1", "Add Gelu: [2 4] float32"},
		{"y = com.microsoft.FastGelu x", nil, "x 2x4", "-: [2 4] float32"}, // it is one by itself
		{"y = com.microsoft.FastGelu x b", nil, "x 2x4; b 4:1", "Add FastGelu: [2 4] float32"},
		{"y = com.microsoft.BiasAdd x b s", nil, "x 2x4; b 4:1; s 2x4", "Add Add: [2 4] float32"},
		{"y = com.microsoft.BiasSoftmax x b", attributes{"is_inner_broadcast": whole(1)}, "x 2x4; b 1x4", "Add Softmax: [2 4] float32"},
		{"y = com.microsoft.BiasSoftmax x b", nil, "x 2x4; b 1x4", "error: bias shape [1 4] must equal input shape [2 4] unless is_inner_broadcast is set"},
		{"y, -, -, s = com.microsoft.SkipLayerNormalization x k g b c", nil, "x 1x2x4; k 1x2x4; g 4:1; b 4:0; c 4:1", "Add Add LayerNormalization: [1 2 4] float32, ?, ?, [1 2 4] float32"},
		{"y, -, -, s = com.microsoft.SkipSimplifiedLayerNormalization x k g", nil, "x 1x2x4; k 1x2x4; g 4:1", "Add SimplifiedLayerNormalization: [1 2 4] float32, ?, ?, [1 2 4] float32"},
		{"y, n = com.microsoft.EmbedLayerNormalization i j w p s g b", nil, "i int32 1x3; j int32 1x3; w 9x4:1; p 9x4:1; s 2x4:1; g 4:1; b 4:0", "Gather (Gather) Add Gather Add LayerNormalization: [1 3 4] float32, [1] int32 of [0]"},
		{"y, n = com.microsoft.EmbedLayerNormalization i - w p - g b m", nil, "i int32 1x3; w 9x4:1; p 9x4:1; g 4:1; b 4:0; m int32 1x3", "Gather (Gather) Add LayerNormalization ReduceSum: [1 3 4] float32, [1] int32"},
		{"y = com.microsoft.EmbedLayerNormalization i - w p - g b", nil, "i int32 3; w 9x4:1; p 9x4:1; g 4:1; b 4:0", "error: input_ids has shape [3]; want 2 axes"},
		{"y = com.microsoft.GroupNorm x g b", attributes{"groups": whole(2), "activation": whole(1)}, "x 1x3x3x4; g 4:1; b 4:0", "Transpose GroupNormalization Swish Transpose: [1 3 3 4] float32"},
		{"y = com.microsoft.GroupNorm x g b", attributes{"channels_last": whole(0)}, "x 1x4x3x3; g 4:1; b 4:0", "GroupNormalization Identity: [1 4 3 3] float32"},
		{"y = com.microsoft.GroupNorm x g b", attributes{"channels_last": whole(0)}, "x 4x3; g 4:1; b 4:0", "error: input has shape [4 3]; want 4 axes"},
		{"y = LpPool x", attributes{"kernel_shape": list(2, 2)}, "x 1x2x4x4", "Mul AveragePool Mul Sqrt: [1 2 3 3] float32"},
		{"y = LpPool x", attributes{"kernel_shape": list(2, 2), "p": whole(1)}, "x 1x2x4x4", "Abs AveragePool Mul: [1 2 3 3] float32"},
		{"y = LpPool x", attributes{"kernel_shape": list(2, 2), "p": whole(3)}, "x 1x2x4x4", "Abs Pow AveragePool Mul Pow: [1 2 3 3] float32"},
		{"y = LpPool x", attributes{"kernel_shape": list(2, 2), "p": whole(0)}, "x 1x2x4x4", `unstated: attribute "p" is 0; want at least 1: [1 2 3 3] float32`},
		{"y = GlobalLpPool x", nil, "x 1x2x4x4", "Mul ReduceSum Sqrt: [1 2 1 1] float32"},
		{"y = GlobalLpPool x", attributes{"p": whole(1)}, "x 1x2x4x4", "Abs ReduceSum: [1 2 1 1] float32"},
		// Operands that the engine has to know in advance, but that are computed.
		{"y = Conv x w", nil, "x 1x2x4x4; w 3x2x1x1", "Slice Reshape Reshape Reshape MatMul Reshape: [1 3 4 4] float32"},
		{"y = Conv x w b", nil, "x 1x2x4; w 3x2x2; b 3:1", "Slice Reshape Slice Reshape Concat Reshape Reshape MatMul Reshape (Reshape) Add: [1 3 3] float32"},
		{"y = Conv x w b", nil, "x 1x2x4x4; w 3x2x1x1:1; b 3", "Conv Reshape Reshape Add: [1 3 4 4] float32"},
		{"y = Conv x w b", nil, "x 1x2x4x4; w 3x2x1x1:1; b 2", "unstated: bias has shape [2]; want one value for each of 3 channels: [1 3 4 4] float32"},
		{"y = Conv x w", nil, "x 1x1x200; w 1x1x129", "unstated: kernel with computed weights has 129 elements; want at most 128: [1 1 72] float32"},
		{"y = ConvTranspose x w b", nil, "x 1x2x4x4; w 2x3x1x1:1; b 3", "ConvTranspose Reshape Reshape Add: [1 3 4 4] float32"},
		{"y = BatchNormalization x s b m v", nil, "x 1x2x4; s 2:1; b 2:0; m 2:0; v 2", "(Reshape) (Reshape) (Reshape) Reshape Add Sqrt Div Sub Mul Add: [1 2 4] float32"},
		{"y = BatchNormalization x s b m v", nil, "x 4; s 1:1; b 1:0; m 1:0; v 1:1", "(Reshape) (Reshape) (Reshape) (Reshape) (Add) (Sqrt) (Div) Sub Mul Add: [4] float32"},
		{"y = BatchNormalization x s b m v", nil, "x 1x3x4; s 2; b 2:0; m 2:0; v 2", "unstated: scale has shape [2]; want one value for each of 3 channels: [1 3 4] float32"},
		// Attention in its four forms.
		{"y = com.microsoft.Attention x w b", attributes{"num_heads": whole(2), "unidirectional": whole(1)}, "x 1x3x4; w 4x12:1; b 12:0", "MatMul Add Split Reshape Transpose Reshape Transpose Reshape Transpose Transpose Mul MatMul Add Softmax MatMul Transpose Reshape: [1 3 4] float32"},
		{"y = com.microsoft.Attention x w - m", attributes{"num_heads": whole(2)}, "x 1x3x4; w 4x12:1; m int32 1x3", "MatMul Split Reshape Transpose Reshape Transpose Reshape Transpose Reshape Cast Sub Mul Transpose Mul MatMul Add Softmax MatMul Transpose Reshape: [1 3 4] float32"},
		{"y = com.microsoft.Attention x w", attributes{"num_heads": whole(5)}, "x 1x3x4; w 4x12:1", "error: cannot split shape [1 3 4] into 5 heads"},
		{"y = com.microsoft.Attention x w - - p", attributes{"num_heads": whole(2)}, "x 1x3x4; w 4x12:1; p 2x1x2x3x2", `error: input "past" and output "present" are not supported`},
		{"y = com.microsoft.Attention x w - m", attributes{"num_heads": whole(2)}, "x 1x3x4; w 4x12:1; m 1x3", "error: mask has element type float32; want an integer or bool type"},
		{"y = com.microsoft.Attention x w - m", attributes{"num_heads": whole(2)}, "x 1x3x4; w 4x12:1; m int32 1x5", "error: mask shape [1 5] is incompatible with scores of 3 rows and 3 columns"},
		{"y = com.microsoft.MultiHeadAttention q k v", attributes{"num_heads": whole(2)}, "q 1x3x4; k 1x5x4; v 1x5x4", "Reshape Transpose Reshape Transpose Reshape Transpose Transpose Mul MatMul Softmax MatMul Transpose Reshape: [1 3 4] float32"},
		{"y = com.microsoft.MultiHeadAttention q k v b", attributes{"num_heads": whole(2)}, "q 1x3x4; k 1x5x4; v 1x5x4; b 12", "error: bias is computed; want a constant"},
		{"y, k1, v1 = com.microsoft.MultiHeadAttention q k v - - - pk pv", attributes{"num_heads": whole(2)}, "q 1x3x4; k 1x3x4; v 1x3x4; pk 1x2x5x2; pv 1x2x5x2", "Reshape Transpose Reshape Transpose Reshape Transpose Concat Concat Transpose Mul MatMul Softmax MatMul Transpose Reshape: [1 3 4] float32, [1 2 8 2] float32, [1 2 8 2] float32"},
		{"y = com.microsoft.MultiHeadAttention q", attributes{"num_heads": whole(2)}, "q 1x3x2x3x2", "Slice Reshape Transpose Slice Reshape Transpose Slice Reshape Transpose Transpose Mul MatMul Softmax MatMul Transpose Reshape: [1 3 4] float32"},
		{"y = com.microsoft.GroupQueryAttention q k v", attributes{"num_heads": whole(4), "kv_num_heads": whole(2)}, "q 1x3x8; k 1x3x4; v 1x3x4", "Reshape Transpose Reshape Transpose Reshape Transpose Reshape Expand Reshape Reshape Expand Reshape Transpose Mul MatMul Add Softmax MatMul Transpose Reshape: [1 3 8] float32"},
		// Lengths that are computed: a prompt sees no past, and a constant total says how much of a cache is
		// filled (6 of 8 here). Elsewhere any length may come.
		{"y = com.microsoft.GroupQueryAttention q k v - - l", attributes{"num_heads": whole(1), "kv_num_heads": whole(1)}, "q 2x3x4; k 2x3x4; v 2x3x4; l int32 2", "Reshape Transpose Reshape Transpose Reshape Transpose Transpose Mul MatMul Add Softmax MatMul Transpose Reshape: [2 3 4] float32"},
		{"y, k1, v1 = com.microsoft.GroupQueryAttention q k v pk pv l t", attributes{"num_heads": whole(1), "kv_num_heads": whole(1)}, "q 1x2x4; k 1x2x4; v 1x2x4; pk 1x1x8x4; pv 1x1x8x4; l int32 1; t 1:8", "Reshape Transpose Reshape Transpose Reshape Transpose Slice Slice Concat Concat Transpose Mul MatMul Add Softmax MatMul Transpose Reshape: [1 2 4] float32, [1 1 8 4] float32, [1 1 8 4] float32"},
		{"y, k1, v1 = com.microsoft.GroupQueryAttention q k v pk pv l t", attributes{"num_heads": whole(1), "kv_num_heads": whole(1)}, "q 1x2x4; k 1x2x4; v 1x2x4; pk 1x1x8x4; pv 1x1x8x4; l int32 1; t 1:1", "error: total_sequence_length is 1 for 2 new and 8 past keys; want 2 to 10"},
		{"y, k1, v1 = com.microsoft.GroupQueryAttention q k v pk pv l", attributes{"num_heads": whole(1), "kv_num_heads": whole(1)}, "q 2x2x4; k 2x2x4; v 2x2x4; pk 2x1x8x4; pv 2x1x8x4; l int32 2", "error: seqlens_k is computed for 2 sequences with past keys; want constants, or 1 sequence"},
		{"y = com.microsoft.GroupQueryAttention q k v", attributes{"num_heads": whole(4), "kv_num_heads": whole(3)}, "q 1x3x8; k 1x3x4; v 1x3x4", "error: num_heads 4 is not a positive multiple of kv_num_heads 3"},
		{"y = Attention q k v m", attributes{"softcap": newFloatAttr(2)}, "q 1x2x3x4; k 1x1x5x4; v 1x1x5x4; m bool 3x5", "Cast Sub Mul Reshape Expand Reshape Reshape Expand Reshape Transpose Mul MatMul Mul Tanh Mul Add Softmax MatMul Identity: [1 2 3 4] float32"},
		{"y = Attention q k v", nil, "q 1x3x3x4; k 1x2x5x4; v 1x2x5x4", "error: queries have shape [1 3 3 4] and keys have shape [1 2 5 4]; want 4 axes each, with query heads a multiple of key heads"},
		{"y = com.microsoft.RotaryEmbedding x i c s", nil, "x 1x2x3x4; i int64 1x3; c 8x2:1; s 8x2:1", "Gather Reshape Gather Reshape Slice Slice Mul Mul Sub Mul Mul Add Concat: [1 2 3 4] float32"},
		{"y = com.microsoft.RotaryEmbedding x i c s", attributes{"interleaved": whole(1)}, "x 1x3x8; i int64 1:2; c 8x2:1; s 8x2:1", "Reshape Transpose (Add) (Gather) (Reshape) (Gather) (Reshape) Slice Slice Mul Mul Sub Mul Mul Add Reshape Reshape Concat Reshape Identity Transpose Reshape: [1 3 8] float32"},
		{"y = RotaryEmbedding x c s", attributes{"rotary_embedding_dim": whole(2)}, "x 1x2x3x4; c 1x3x1:1; s 1x3x1:1", "(Reshape) (Reshape) Split Slice Slice Mul Mul Sub Mul Mul Add Concat: [1 2 3 4] float32"},
		{"y = RotaryEmbedding x c s", attributes{"rotary_embedding_dim": whole(3)}, "x 1x2x3x4; c 1x3x1:1; s 1x3x1:1", "error: cannot rotate 3 elements of shape [1 2 3 4]; want an even number from 2 to 4"},
		{"y = com.microsoft.Attention x w - m", attributes{"num_heads": whole(2)}, "x 1x3x4; w 4x12:1; m int32 1", "MatMul Split Reshape Transpose Reshape Transpose Reshape Transpose Reshape same Less Cast Sub Mul Transpose Mul MatMul Add Softmax MatMul Transpose Reshape: [1 3 4] float32"},
		{"y = com.microsoft.Attention x w - m", attributes{"num_heads": whole(2)}, "x 1x3x4; w 4x12:1; m int32 1x3x3", "MatMul Split Reshape Transpose Reshape Transpose Reshape Transpose Reshape Cast Sub Mul Transpose Mul MatMul Add Softmax MatMul Transpose Reshape: [1 3 4] float32"},
		{"y = com.microsoft.MultiHeadAttention q k - b - s", attributes{"num_heads": whole(2)}, "q 1x3x4; k 1x5x2x2x2; b 4:1; s 1x1x3x5", "error: input 1 has shape [1 2 5 2]; want 3 axes to add a bias"},
		{"y = com.microsoft.MultiHeadAttention q k - - - s", attributes{"num_heads": whole(2)}, "q 1x3x4; k 1x5x2x2x2; s 1x1x3x5", "Slice Reshape Transpose Slice Reshape Transpose Reshape Transpose Transpose Mul MatMul Add Softmax MatMul Transpose Reshape: [1 3 4] float32"},
		{"y = com.microsoft.MultiHeadAttention q k v b", attributes{"num_heads": whole(2), "scale": newFloatAttr(0.5)}, "q 1x3x4; k 1x5x4; v 1x5x4; b 12:1", "Add Add Add Reshape Transpose Reshape Transpose Reshape Transpose Transpose Mul MatMul Softmax MatMul Transpose Reshape: [1 3 4] float32"},
		{"y = com.microsoft.MultiHeadAttention q k", attributes{"num_heads": whole(2)}, "q 1x3x4; k 1x5x2x3x2", "error: packed tensor has shape [1 5 2 3 2]; want 2 elements along axis 3"},
		{"y = com.microsoft.GroupQueryAttention q - - - - - - c s", attributes{"num_heads": whole(2), "kv_num_heads": whole(1), "do_rotary": whole(1)}, "q 1x3x8; c 9x1:1; s 9x1:0", "Split Reshape Transpose Reshape Transpose Reshape Transpose (Gather) (Reshape) (Gather) (Reshape) Slice Slice Mul Mul Sub Mul Mul Add Concat (Gather) (Reshape) (Gather) (Reshape) Slice Slice Mul Mul Sub Mul Mul Add Concat Reshape Expand Reshape Reshape Expand Reshape Transpose Mul MatMul Add Softmax MatMul Transpose Reshape: [1 3 4] float32"},
		{"y = com.microsoft.GroupQueryAttention q", attributes{"num_heads": whole(2), "kv_num_heads": whole(1)}, "q 1x3x7", "error: cannot split shape [1 3 7] into 2 query, 1 key and 1 value heads of equal size"},
		// Spectra.
		{"y = STFT x t - n", nil, "x 1x16x1; t int64 :4; n int64 :8", "Reshape Conv Reshape Transpose: [1 3 5 2] float32"},
		{"y = STFT x t w", attributes{"onesided": whole(0)}, "x 1x16; t int64 :4; w 8:0.5", "Reshape Conv Reshape Transpose: [1 3 8 2] float32"},
		{"y = STFT x t w", nil, "x 1x16; t int64 :4; w 8", "error: window is computed; want a constant"},
		{"y = STFT x t w", nil, "x 1x16; t int64 ; w 8:1", "error: frame_step is computed; want a constant"},
		{"y = STFT x t w n", nil, "x 1x16; t int64 :4; w 8:1; n int64 :7", "error: window has 8 elements; want the frame length, 7"},
		{"y = STFT x t - n", nil, "x 1x16x2; t int64 :4; n int64 :8", "error: signal has shape [1 16 2]; want a real signal of shape [batch length] or [batch length 1]"},
		{"y = DFT x", nil, "x 1x8x1", "Transpose Reshape MatMul Reshape Transpose: [1 8 2] float32"},
		{"y = DFT x n k", attributes{"onesided": whole(1)}, "x 1x8x1; n int64 :8; k int64 :1", "Transpose Reshape MatMul Reshape Transpose: [1 5 2] float32"},
		{"y = DFT x n", nil, "x 1x8x1; n int64 :4", "error: dft_length is 4; want 8, the size of the axis"},
		{"y = DFT x - k", nil, "x 1x8x1; k int64 ", "error: axis is computed; want a constant"},
		{"y = DFT x", attributes{"inverse": whole(1), "onesided": whole(1)}, "x 1x8x2", "error: inverse of a one-sided DFT is not supported"},
		// Numbers of eight bits.
		{"y = QuantizeLinear x s z", nil, "x 2x4; s :0.5; z int8 :3", "Mul RoundSmall Add Clip: [2 4] int8"},
		{"y = QuantizeLinear x s", attributes{"axis": whole(1)}, "x 2x4; s 4:0.5", "Mul RoundSmall Clip: [2 4] uint8"},
		{"y = QuantizeLinear x s z", nil, "x 2x4; s :0.5; z int16 :3", "unstated: unsupported type int16; want an integer type of at most 8 bits: [2 4] int16"},
		{"y = QuantizeLinear x s", nil, "x 2x4; s ", "unstated: scale is missing or computed; want a constant: [2 4] uint8"},
		{"y = QuantizeLinear x s", nil, "x 2x4; s :0", "unstated: scale is 0; want a nonzero number: [2 4] uint8"},
		{"y = QuantizeLinear x s z", attributes{"axis": whole(1)}, "x 1x3x2; s 3:0.5; z uint8 2:1", "unstated: 3 scales and 2 zero points; want equal numbers, at least 1: [1 3 2] uint8"},
		{"y = DequantizeLinear x s z", attributes{"axis": whole(5)}, "x uint8 2x4; s 4:0.5; z uint8 4:3", "unstated: axis 5 is out of range for 2 dimensions: [2 4] float32"},
		{"y = DequantizeLinear x s z", nil, "x uint8 2x4; s :0.5; z uint8 :3", "same Sub Mul: [2 4] float32"},
		{"y = DequantizeLinear x s", nil, "x int32 2x4; s :0.5", "unstated: unsupported type int32; want an integer type of at most 8 bits: [2 4] float32"},
		{"y, s, z = DynamicQuantizeLinear x", nil, "x 2x4", "ReduceMax Max ReduceMin Min Sub Mul Sign Sub Add Max Reciprocal Mul Neg RoundSmall Clip Mul RoundSmall Add Clip: [2 4] uint8, [] float32, [] uint8"},
		{"y = QLinearConv x xs xz w ws wz ys yz b", nil, "x uint8 1x2x4x4; xs :0.5; xz uint8 :3; w int8 3x2x1x1:1; ws 3:0.5; wz int8 3:0; ys :1; yz uint8 :0; b int32 3:7", "same Sub Mul same (Mul) Conv Mul RoundSmall Clip: [1 3 4 4] uint8"},
		{"y = QLinearMatMul x xs xz w ws wz ys yz", nil, "x uint8 2x4; xs :0.5; xz uint8 :3; w int8 4x3:1; ws :0.5; wz int8 :0; ys :1; yz int8 :1", "same Sub Mul same (Mul) MatMul Mul RoundSmall Add Clip: [2 3] int8"},
		{"y = com.microsoft.QGemm x xs xz w ws wz", nil, "x uint8 2x4; xs :0.5; xz uint8 :3; w int8 4x3:1; ws :0.5; wz int8 :0", "same Sub Mul same (Mul) Gemm: [2 3] float32"},
		{"y = com.microsoft.QGemm x xs xz w ws wz b", nil, "x uint8 2x4; xs :0.5; xz uint8 :3; w int8 4x3:1; ws :0.5; wz int8 :0; b int32 3", "error: bias is computed; want a constant"},
		{"y = com.microsoft.QLinearAdd x xs xz w ws wz ys yz", nil, "x uint8 2x4; xs :0.5; xz uint8 :3; w uint8 2x4; ws :0.5; wz uint8 :0; ys :1; yz uint8 :0", "same Sub Mul same Mul Add Mul RoundSmall Clip: [2 4] uint8"},
		{"y = com.microsoft.QLinearSigmoid x xs xz ys yz", nil, "x uint8 2x4; xs :0.5; xz uint8 :3; ys :1; yz uint8 :0", "same Sub Mul Sigmoid Mul RoundSmall Clip: [2 4] uint8"},
		{"y = com.microsoft.QLinearGlobalAveragePool x xs xz ys yz", attributes{"channels_last": whole(1)}, "x uint8 1x4x2x2; xs :0.5; xz uint8 :3; ys :1; yz uint8 :0", `error: attribute "channels_last" is not supported`},
		{"y = com.microsoft.QLinearConcat ys yz a as az b bs bz", attributes{"axis": whole(1)}, "ys :1; yz uint8 :0; a uint8 2x4; as :0.5; az uint8 :0; b uint8 2x1; bs :1; bz uint8 :2", "same Mul same Sub Mul Concat Mul RoundSmall Clip: [2 5] uint8"},
		{"y = ConvInteger x w", nil, "x uint8 1x2x4x4; w int8 3x2x1x1:1", "same same (Mul) Conv: [1 3 4 4] int32"},
		{"y = MatMulInteger x w xz", nil, "x uint8 2x4; w int8 4x3:1; xz uint8 :3", "same same Sub same (Mul) MatMul: [2 3] int32"},
		{"y = MatMulInteger x w xz", nil, "x uint8 2x4; w int8 4x3:1; xz uint8 2", "error: zero points without known values have shape [2]; want one element"},
		{"y = com.microsoft.DynamicQuantizeMatMul x w ws wz b", nil, "x 2x4; w int8 4x3:1; ws :0.5; wz int8 :0; b 3:1", "DynamicQuantizeLinear[ReduceMax Max ReduceMin Min Sub Mul Sign Sub Add Max Reciprocal Mul Neg RoundSmall Clip Mul RoundSmall Add Clip] same same Sub Mul same (Mul) MatMul Add: [2 3] float32"},
		{"y = com.microsoft.MatMulIntegerToFloat x w xs ws", nil, "x uint8 2x4; w int8 4x3:1; xs :0.5; ws :0.5", "same Mul same (Mul) MatMul: [2 3] float32"},
	} {
		f := newFile()
		n := f.addNode(c.node, c.a)
		declareTensors(f, c.shapes)
		s := &settler{values: f.Values, budget: &graph.Budget{Bytes: 1 << 20}}
		node := &Node{Node: n, Label: "n"}
		s.settleResults(node)
		got := describeBody(node.Body)
		switch {
		case node.Err != nil:
			got = "error: " + node.Err.Error()
		case node.Unstated != nil:
			got = "unstated: " + node.Unstated.Error()
		case node.Body == nil:
			got = "-"
		}
		if node.Err == nil {
			var results []string
			for _, v := range n.Out {
				results = append(results, describeValue(v))
			}
			got += ": " + strings.Join(results, ", ")
		}
		if got != c.want && !(node.Err != nil && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s of %s:\n\t%s, want\n\t%s", c.node, c.shapes, got, c.want)
		}
	}
}

// declareTensors sets the types, shapes and values of tensors from a text such as "x 2x3; c int8
// 4:1; number :0.5".
func declareTensors(f *file, text string) {
	elems := map[string]graph.Type{"uint8": graph.Uint8, "int8": graph.Int8, "int16": graph.Int16, "int32": graph.Int32, "int64": graph.Int64, "bool": graph.Bool}
	for line := range strings.SplitSeq(text, "; ") {
		w := strings.Split(line, " ")
		elem, shape := graph.Float, w[len(w)-1]
		if len(w) == 3 {
			elem = elems[w[1]]
		}
		shape, number, constant := strings.Cut(shape, ":")
		dims := []int{}
		for d := range strings.SplitSeq(shape, "x") {
			if v := atoi(d); v > 0 {
				dims = append(dims, v)
			}
		}
		if constant {
			f.addConstant(w[0], elem, dims, atof(number))
		} else {
			f.addInput(w[0], elem, dims...)
		}
	}
}

func atoi(s string) int { v, _ := strconv.Atoi(s); return v }

func atof(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }
