package tiles

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"anesim/hw/regs"
	"anesim/internal/material"
)

// A section is the entry of a constant section in the programs' index.
type section struct {
	SHA256 string
	Size   int
}

// sections reads the index next to the repository. It skips the test if there is none.
func sections(t *testing.T) map[string]section {
	t.Helper()
	b := material.Read(t, "programs/index.json")
	var index map[string]struct {
		Section section `json:"constant_section"`
	}
	if err := json.Unmarshal(b, &index); err != nil {
		t.Fatal(err)
	}
	m := make(map[string]section, len(index))
	for name, v := range index {
		m[name] = v.Section
	}
	return m
}

// tasks reads the descriptors of a real program.
func tasks(t *testing.T, name string) []*regs.Task {
	t.Helper()
	b := material.Read(t, "programs/text/"+name+".text.bin")
	s := regs.Stream{Text: b}
	for i := range s.BARs {
		s.BARs[i] = 1 << 30
	}
	var list []*regs.Task
	for task, err := range s.Tasks(new(regs.File)) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, task.Clone())
	}
	return list
}

// blob is the file that most of the examples took their weights from, a header of 64
// halves and then 0.5 throughout, read from its start.
func blob(n int) []half {
	b := make([]half, max(n, 64))
	for i := range b[64:] {
		b[64+i] = 0x3800
	}
	b[0], b[2], b[32], b[33], b[38] = 1, 2, 0xbeef, 0xdead, 0x80
	for i := range 4 {
		b[34+i] = half(2 * n >> (16 * i))
	}
	return b[:n]
}

// counting is the weights of the one example whose halves count up from 1.
func counting(n int) []half {
	b := make([]half, n)
	for i := range b {
		b[i] = half(i + 1)
	}
	return b
}

// sameStart is the biases that were read from the start of the weights' own file.
func sameStart(weights, channels int) []half { return blob(weights)[:channels] }

// countingOn is the biases that count on behind the weights.
func countingOn(weights, channels int) []half { return counting(weights + channels)[weights:] }

// Each example's constants, packed from the weights it was compiled with, have the hash
// and the lane sizes of Apple's compiler's, and NewKernel reads the weights back. A
// split convolution is several tasks over the channels its destinations name.
func TestSections(t *testing.T) {
	index := sections(t)
	for _, tc := range []struct {
		name    string
		weights func(n int) []half
		bias    func(weights, channels int) []half
	}{
		{"conv_probe_k1_c512_n512_s16_st1_g1_bias0_same", blob, nil},
		{"conv_probe_k3_c256_n256_s32_st1_g1_bias0_same", blob, nil}, // planes of 14 and of 2
		{"conv_probe_k3_c64_n64_s32_st1_g1_bias1_same", blob, sameStart},
		{"env_conv_k3_c64_n64_s16_st1_g4_bias0", blob, nil},
		{"env_conv_k3_c64_n64_s16_st1_g64_bias1", blob, sameStart},
		{"env_conv_k1_c64_n64_s16_st2_g1_bias0", blob, nil},
		{"encoder_conv_idx_c1024_n1024_k1x9_s1_g1024_bias1_same_wmaj", counting, countingOn},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := index[tc.name]
			var convs []*regs.Task
			channels, taps := 0, 0
			for _, task := range tasks(t, tc.name) {
				if g := &task.Groups; !g.Planar() {
					convs = append(convs, task)
					channels += g.OutShape().Channels * g.GroupCount()
					taps = Taps(g)
				}
			}
			weights := tc.weights(channels * taps)
			var bias []half
			if tc.bias != nil {
				bias = tc.bias(len(weights), channels)
			}
			data := make([]byte, want.Size)
			for _, task := range convs {
				g := &task.Groups
				l := layerOf(g)
				first := 0
				if plane := g.TileDMADst.DstPlaneStride.Bytes(); plane != 0 && len(convs) > 1 {
					first = int(g.TileDMADst.DstBase.Bytes() / plane)
				}
				for c := range l.groups * l.cout {
					l.weights = append(l.weights, weights[(first+c)*taps:(first+c+1)*taps])
					if bias != nil {
						l.biases = append(l.biases, bias[first+c])
					}
				}
				if g.NE.MACCfg.BiasMode() != (bias != nil) {
					t.Errorf("bias stream %v, want %v", g.NE.MACCfg.BiasMode(), bias != nil)
				}
				lanes := l.pack()
				k := &g.KernelDMASrc
				for i := range lanes {
					lanes[i] = pad64(lanes[i])
					if size := int(k.CoeffBfrSize[i].Bytes()); len(lanes[i]) != size {
						t.Fatalf("lane %d takes %#x bytes, the registers have %#x", i, len(lanes[i]), size)
					}
					copy(data[k.CoeffBaseAddr[i].Bytes():], lanes[i])
				}
				kernel, err := NewKernel(g, lanes)
				if err != nil {
					t.Fatal(err)
				}
				checkKernel(t, kernel, l)
			}
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want.SHA256 {
				t.Errorf("%d bytes with hash %x, the compiler's have %s", len(data), sum, want.SHA256)
			}
		})
	}
}

// layerOf is the layer of real registers, without its weights.
func layerOf(g *regs.Groups) *layer {
	in, out := g.InShape(), g.OutShape()
	p, _ := PackingOf(g)
	return &layer{
		groups: in.Groups, cin: in.Channels, cout: out.Channels,
		kh: int(g.Common.ConvCfg.Kh()), kw: int(g.Common.ConvCfg.Kw()),
		sy: int(g.Common.ConvCfg.Sy()), sx: int(g.Common.ConvCfg.Sx() / g.Common.ConvCfg.Ox()), ox: int(g.Common.ConvCfg.Ox()),
		unicast: g.Common.GroupConvCfg.UnicastEn(),
		ocg:     int(g.Common.ConvCfg.OCGSize()), packing: p,
	}
}

// The sections of two programs are not ours to the byte: the lanes of their zero-skipping
// 3x3 weights have the compiler's lengths and not its hash, so the order of the entries
// is another.
func TestKnownGapSections(t *testing.T) {
	index := sections(t)
	for _, name := range []string{"env_conv_k3_c64_n64_s16_st2_g1_bias0", "conv_probe_k3_c64_n64_s64_st2_g1_bias0_same"} {
		for _, task := range tasks(t, name) {
			l := layerOf(&task.Groups)
			weights := blob(l.cout * l.taps())
			for c := range l.cout {
				l.weights = append(l.weights, weights[c*l.taps():(c+1)*l.taps()])
			}
			var data []byte
			for i, lane := range l.pack() {
				lane = pad64(lane)
				if size := int(task.Groups.KernelDMASrc.CoeffBfrSize[i].Bytes()); len(lane) != size {
					t.Errorf("%s: lane %d takes %d bytes, the registers have %d", name, i, len(lane), size)
				}
				data = append(data, lane...)
			}
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) == index[name].SHA256 {
				t.Errorf("%s: the gap is closed: move it to TestSections", name)
			}
		}
	}
}
