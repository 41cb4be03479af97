package tiles

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/x448/float16"

	"anesim/hw/regs"
)

type half = float16.Float16

// A layer is a multiply-accumulate task in plain numbers. Its methods are the inverse of
// what is under test: they write the registers and the weight lanes.
type layer struct {
	groups     int
	cin, cout  int // of one group
	hin, win   int
	hout, wout int
	kh, kw     int
	sy, sx     int
	py, px     int
	ox         int // pixels a step, 0 for 1
	unicast    bool
	ocg        int // OCGSize
	tileRows   int

	packing Packing
	palette int // bits of a palette's index

	weights [][]half // channel by channel over all groups, each (input channel, y, x)
	biases  []half   // nil for none

	kernels [][][]half   // what streamed gives, for whoever asks often
	padding [Engines]int // halves that fit behind the groups of a lane, since pack
}

// A place is an operand of an output: a column of the window is one that some pixel of
// the step needs.
type place struct{ channel, y, x int }

// stream is the order of operands in the coefficient stream: input channels outside, in
// each the taps by stride phase.
func (l *layer) stream() (order []place) {
	channels, stride := l.cin, l.sx*max(1, l.ox)
	if l.unicast {
		channels = 1
	}
	for c := range channels {
		for y := range l.kh {
			for x := range l.kw + (max(1, l.ox)-1)*l.sx {
				order = append(order, place{c, y, x})
			}
		}
	}
	slices.SortStableFunc(order, func(a, b place) int {
		return cmp.Or(a.channel-b.channel, a.y%l.sy-b.y%l.sy, a.x%stride-b.x%stride)
	})
	return order
}

// streamed is the kernel of one pixel of a step in stream order.
func (l *layer) streamed(channel, pixel int) []half {
	var w []half
	for _, p := range l.stream() {
		h := half(0)
		if x := p.x - pixel*l.sx; x >= 0 && x < l.kw {
			h = l.weights[channel][(p.channel*l.kh+p.y)*l.kw+x]
		}
		w = append(w, h)
	}
	return w
}

// inner is a layer of one group and one pixel: k taps, n channels.
func inner(n, k, ocg int) *layer {
	return &layer{groups: 1, cin: k, cout: n, hin: 1, win: 1, hout: 1, wout: 1, kh: 1, kw: 1, sy: 1, sx: 1, ocg: ocg}
}

func (l *layer) taps() int {
	if l.unicast {
		return l.kh * l.kw
	}
	return l.cin * l.kh * l.kw
}

func (l *layer) registers() *regs.Groups {
	g := new(regs.Groups)
	c, ox := &g.Common, max(1, l.ox)
	c.InDim = c.InDim.WithWin(uint32(l.win)).WithHin(uint32(l.hin))
	c.OutDim = c.OutDim.WithWout(uint32(l.wout / ox)).WithHout(uint32(l.hout))
	c.Cin, c.Cout = c.Cin.WithCin(uint32(l.cin)), c.Cout.WithCout(uint32(l.cout))
	c.ConvCfg = c.ConvCfg.WithKw(uint32(l.kw)).WithKh(uint32(l.kh)).WithOCGSize(uint32(l.ocg)).
		WithSx(uint32(l.sx * ox)).WithSy(uint32(l.sy)).WithPx(uint32(l.px)).WithPy(uint32(l.py)).
		WithOx(uint32(ox)).WithOy(1)
	c.GroupConvCfg = c.GroupConvCfg.WithNumGroups(uint32(l.groups)).WithUnicastEn(l.unicast).WithUnicastCin(1)
	c.TileCfg = c.TileCfg.WithTileHeight(uint32(l.tileRows))
	c.Cfg = c.Cfg.WithActiveNE(uint32(bits.Len(uint(min(16, l.cout) - 1))))
	g.OnEngines = true
	k := g.NE.KernelCfg.WithKernelFmt(regs.FormatFP16)
	switch l.packing {
	case ZeroSkipping, Masked:
		k = k.WithSparse(true)
	case Palette:
		k = k.WithPalEn(true).WithPalBits(uint32(l.palette))
	case Int8:
		k = k.WithKernelFmt(regs.FormatInt8A)
	}
	g.NE.KernelCfg = k
	g.NE.MACCfg = g.NE.MACCfg.WithBiasMode(l.biases != nil)
	return g
}

// pack writes the lanes the way the layouts are told: planes of g neighboring channels,
// dealt to the lanes in turn, g what gives each of the sixteen lanes one; what is left
// takes a smaller g, and fewer than sixteen channels a lane each. In each lane a group is
// padded to 64 bytes, and zero-skipping a plane of channels by themselves too.
func (l *layer) pack() (lanes [Engines][]byte) {
	l.padding = [Engines]int{}
	if l.packing == Palette {
		codes := l.codebook()
		for i := range lanes[:min(Engines, l.cout)] {
			for j := range 1 << l.palette {
				lanes[i] = put(lanes[i], codes[min(j, len(codes)-1)])
			}
		}
	}
	for group := range l.groups {
		next := group * l.cout
		for rest := l.cout; rest > 0; {
			g, planes := max(1, min(rest/Engines, 1<<l.ocg)), min(rest, Engines)
			if rest >= Engines {
				planes = rest / (Engines * g) * Engines
			}
			for p := range planes {
				b := l.plane(lanes[p%Engines], next, g)
				if l.packing == ZeroSkipping && l.unicast {
					n := len(b)
					b = pad64(b)
					l.padding[p%Engines] += (len(b) - n) / 2
				}
				lanes[p%Engines] = b
				next += g
			}
			rest -= planes * g
		}
		for i, b := range lanes {
			lanes[i] = pad64(b)
			l.padding[i] += (len(lanes[i]) - len(b)) / 2
		}
	}
	return lanes
}

func put(b []byte, h half) []byte { return binary.LittleEndian.AppendUint16(b, uint16(h)) }

func pad64(b []byte) []byte { return append(b, make([]byte, -len(b)&63)...) }

// plane appends g channels from first on.
func (l *layer) plane(b []byte, first, g int) []byte {
	var kernels [][]half // of every channel, every pixel
	for c := first; c < first+g; c++ {
		for p := range max(1, l.ox) {
			kernels = append(kernels, l.streamed(c, p))
			if l.packing == Int8 {
				b = put(b, l.scale(c))
			}
		}
	}
	for c := first; c < first+g && l.biases != nil; c++ {
		for range max(1, l.ox) {
			b = put(b, l.biases[c])
		}
	}
	var w []half // step by step, the kernels side by side
	for k := range kernels[0] {
		for _, kernel := range kernels {
			w = append(w, kernel[k])
		}
	}
	switch l.packing {
	case Dense:
		for _, h := range w {
			b = put(b, h)
		}
	case Masked:
		mask := make([]byte, (len(w)+7)/8)
		var values []byte
		for i, h := range w {
			if h != 0 {
				mask[i/8] |= 1 << (i % 8)
				values = put(values, h)
			}
		}
		b = append(append(b, mask...), values...)
	case Palette:
		codes := l.codebook()
		indices := make([]byte, (len(w)*l.palette+7)/8)
		for i, h := range w {
			indices[i*l.palette/8] |= byte(slices.Index(codes, h)) << (i * l.palette % 8)
		}
		b = append(b, indices...)
	case Int8:
		for i, h := range w {
			b = append(b, byte(int8(h.Float32()/l.scale(first+i/max(1, l.ox)%g).Float32())))
		}
	case ZeroSkipping:
		b = l.appendZeroSkipping(b, w, len(kernels))
	}
	return b
}

// appendZeroSkipping is a count of the body's bytes, and for each input channel and
// stride phase a mask byte for every eight entries with the halves that are not zero
// behind it; an odd number of masks has a zero byte in front, and a kernel of one tap
// always.
func (l *layer) appendZeroSkipping(b []byte, w []half, g int) []byte {
	var body []byte
	kw, stride := l.kw+(max(1, l.ox)-1)*l.sx, l.sx*max(1, l.ox)
	for len(w) > 0 {
		for y := range min(l.sy, l.kh) {
			for x := range min(stride, kw) {
				taps := (l.kh - y + l.sy - 1) / l.sy * ((kw - x + stride - 1) / stride)
				if (taps*g+7)/8%2 == 1 || l.kh*kw == 1 {
					body = append(body, 0)
				}
				for entries := range slices.Chunk(w[:taps*g], 8) {
					at := len(body)
					body = append(body, 0)
					for i, h := range entries {
						if h != 0 {
							body[at] |= 1 << i
							body = put(body, h)
						}
					}
				}
				w = w[taps*g:]
			}
		}
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(body)))
	return append(append(b, body...), make([]byte, max(0, g/2-2))...)
}

// codebook returns the distinct weights in ascending order.
func (l *layer) codebook() []half {
	var used [1 << 16]bool
	for _, w := range l.weights {
		for _, h := range w {
			used[h] = true
		}
	}
	var codes []half
	for h, u := range used {
		if u {
			codes = append(codes, half(h))
		}
	}
	return codes
}

// scale is the int8 scale of a channel: a power of two of its own.
func (l *layer) scale(channel int) half { return float16.Fromfloat32(1 / float32(int(1)<<(channel%8))) }

// fill gives every weight a value of its own as far as halves go, every bias too; packed
// forms get values they can hold.
func (l *layer) fill(bias bool) *layer {
	channels := l.groups * l.cout
	r := rand.New(rand.NewPCG(uint64(channels), uint64(l.taps())))
	l.weights = make([][]half, channels)
	for c := range l.weights {
		l.weights[c] = make([]half, l.taps())
		for k := range l.weights[c] {
			h := half(c*l.taps() + k + 1)
			switch l.packing {
			case ZeroSkipping, Masked:
				if r.IntN(3) == 0 {
					h = 0
				}
			case Palette:
				h = half(0x3c00 + r.IntN(1<<l.palette))
			case Int8:
				h = float16.Fromfloat32(float32(r.IntN(256)-128) * l.scale(c).Float32())
			}
			l.weights[c][k] = h
		}
	}
	if bias {
		for c := range channels {
			l.biases = append(l.biases, half(0x8000+c))
		}
	}
	return l
}
