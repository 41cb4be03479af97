package tiles

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/x448/float16"

	"anesim/hw/mac"
	"anesim/hw/regs"
)

// A Packing is a form of weights in a coefficient lane.
type Packing uint8

// The forms. Dense is in every real program but those of stride 2, which skip zeros.
// What a plane holds in the other forms is assumed: no program shows it. Bias rows stand
// ahead of a plane in every form.
const (
	Dense        Packing = iota
	ZeroSkipping         // stride 2: a byte count, then a mask and the non-zero fp16 values of each step
	Masked               // stride 1: one mask for the plane, LSB first, then its non-zero fp16 values
	Palette              // a codebook of 2^bits fp16 values ahead of the lane's planes, which hold indices
	Int8                 // a row of fp16 scales ahead of each plane, which holds signed bytes
)

// String names the form.
func (p Packing) String() string {
	switch p {
	case Dense:
		return "dense"
	case ZeroSkipping:
		return "zero-skipping"
	case Masked:
		return "masked"
	case Palette:
		return "palette"
	case Int8:
		return "int8"
	}
	return fmt.Sprintf("Packing(%d)", uint8(p))
}

// PackingOf reads the form from the registers; note says why a combination is not
// modelled, and is empty when it is.
func PackingOf(g *regs.Groups) (p Packing, note string) {
	k, cc := g.NE.KernelCfg, g.Common.ConvCfg
	int8 := k.KernelFmt() != regs.FormatFP16
	switch {
	case k.PalEn() && k.Sparse(), int8 && (k.PalEn() || k.Sparse()):
		return p, "weights packed in two ways at once are not modelled"
	case k.PalEn() && k.PalBits() != 4 && k.PalBits() != 8:
		return p, fmt.Sprintf("a palette of %d bits is not modelled", k.PalBits())
	case k.PalEn():
		p = Palette
	case k.Sparse() && (cc.Sx() > 1 || cc.Sy() > 1):
		p = ZeroSkipping
	case k.Sparse():
		p = Masked
	case int8:
		p = Int8
	}
	return p, ""
}

// unpack turns packed lanes into dense ones, group after group.
func (k *Kernel) unpack(g *regs.Groups, p Packing) error {
	groups := g.GroupCount()
	paletteBits := int(g.NE.KernelCfg.PalBits())
	need := k.laneBytes()
	for lane := range k.lanes {
		if need[lane] == 0 {
			continue
		}
		r := laneReader{layout: &k.layout, lane: lane, b: k.lanes[lane]}
		if p == Palette {
			r.codebook = make([]float16.Float16, 1<<paletteBits)
			if err := r.halves(r.codebook); err != nil {
				return err
			}
		}
		r.bits = paletteBits
		var dense []byte
		for group := range groups {
			for c := range k.chunks {
				planes := (c.channels + c.width - 1) / c.width
				for plane := lane; plane < planes; plane += Engines {
					var err error
					if dense, err = r.plane(dense, p, c.width*k.pixels); err != nil {
						return err
					}
					if k.apart(p) {
						r.align()
					}
				}
			}
			if group+1 < groups {
				r.align()
				dense = append(dense, make([]byte, (group+1)*k.group[lane]-len(dense))...)
			}
		}
		k.lanes[lane] = dense
	}
	return nil
}

// A laneReader reads the planes of a packed lane in order.
type laneReader struct {
	*layout
	lane     int
	b        []byte
	at       int
	codebook []float16.Float16
	bits     int
}

func (r *laneReader) take(n int) ([]byte, error) {
	if n > len(r.b)-r.at {
		return nil, &KernelError{r.lane, r.at + n, len(r.b)}
	}
	b := r.b[r.at : r.at+n]
	r.at += n
	return b, nil
}

func (r *laneReader) align() { r.at = min((r.at+63)&^63, len(r.b)) }

func (r *laneReader) halves(dst []float16.Float16) error {
	b, err := r.take(2 * len(dst))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = float16.Float16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return nil
}

// plane reads a plane of width kernels side by side and appends it in dense form.
func (r *laneReader) plane(dense []byte, p Packing, width int) ([]byte, error) {
	scale := make([]float16.Float16, width)
	if p == Int8 {
		if err := r.halves(scale); err != nil {
			return nil, err
		}
	}
	head, err := r.take(2 * r.bias * width)
	if err != nil {
		return nil, err
	}
	dense = append(dense, head...)
	if n := r.least(p, width, r.bits); n > len(r.b)-r.at {
		return nil, &KernelError{r.lane, r.at + n, len(r.b)}
	}
	w := make([]float16.Float16, r.taps*width)
	switch p {
	case ZeroSkipping:
		err = r.zeroSkipping(w, width)
	case Masked:
		var n int
		if n, err = mac.UnpackSparse(w, r.b[r.at:]); err == nil {
			r.at += n
		}
	case Palette:
		var b []byte
		if b, err = r.take((len(w)*r.bits + 7) / 8); err == nil {
			err = mac.UnpackPalette(w, r.codebook, b, r.bits)
		}
	case Int8:
		err = r.int8(w, scale)
	}
	if err != nil {
		return nil, fmt.Errorf("lane %d, byte %#x, %v weights: %w", r.lane, r.at, p, err)
	}
	for _, h := range w {
		dense = binary.LittleEndian.AppendUint16(dense, uint16(h))
	}
	return dense, nil
}

// least is the fewest bytes that a plane of width kernels takes behind its bias row. Each
// weight of a zero-skipping or masked plane that is not zero adds two.
func (l *layout) least(p Packing, width, paletteBits int) int {
	n := width * l.taps
	switch p {
	case ZeroSkipping:
		masks := 0 // of an input channel
		for taps := range l.phases {
			masks += l.masks(taps * width)
		}
		return 2 + l.inputs*masks + closing(width)
	case Masked:
		return (n + 7) / 8
	case Palette:
		return (n*paletteBits + 7) / 8
	case Int8:
		return n
	}
	return 2 * n
}

// phases yields how many taps of an input channel each stride phase has, row phases
// outside.
func (l *layout) phases(yield func(taps int) bool) {
	for y := range min(l.sy, l.kh) {
		for x := range min(l.sx, l.kw) {
			if !yield(ofPhase(l.kh, l.sy, y) * ofPhase(l.kw, l.sx, x)) {
				return
			}
		}
	}
}

// ofPhase is how many of n taps in a row stand at p modulo the stride s.
func ofPhase(n, s, p int) int { return int(uint32(n-p+s-1) / uint32(s)) }

// masks is the bytes ahead of and between the fp16 values of a phase of zero-skipping weights.
func (l *layout) masks(entries int) int {
	n := (entries + 7) >> 3
	if l.kh*l.kw == 1 {
		return n + 1
	}
	return n + n&1
}

// apart reports whether every plane begins at a multiple of 64 bytes: zero-skipping ones of
// channels by themselves (inferred from how much two convolutions read).
func (l *layout) apart(p Packing) bool { return p == ZeroSkipping && l.alone }

// closing is the zero bytes behind the body of zero-skipping weights.
func closing(width int) int { return max(0, width/2-2) }

// zeroSkipping reads a plane of stride-2 weights: a 16-bit count of the body's bytes,
// then for each input channel its taps by stride phase. The width fp16 values of a phase's
// taps, side by side, are its entries; every eight have a mask byte, lowest bit first,
// and then the values of the set bits. A phase with an odd number of masks starts with a
// zero byte, and so does every phase of a kernel of one tap. Wide planes close with
// width/2 - 2 zero bytes.
//
// The section of a 1x1 program packed this way has the hash of the compiler's; of a 3x3
// one it has the lengths of the lanes, and the order of the entries is inferred.
func (r *laneReader) zeroSkipping(w []float16.Float16, width int) error {
	count, err := r.take(2)
	if err != nil {
		return err
	}
	body, err := r.take(int(binary.LittleEndian.Uint16(count)))
	if err != nil {
		return err
	}
	short := fmt.Errorf("body of %d bytes ends inside a channel", len(body))
	for len(w) > 0 {
		for taps := range r.phases {
			entries := w[:taps*width]
			w = w[len(entries):]
			if r.masks(len(entries)) > (len(entries)+7)/8 {
				if len(body) == 0 {
					return short
				}
				body = body[1:]
			}
			for ; len(entries) > 0; entries = entries[min(8, len(entries)):] {
				if len(body) == 0 || len(body) < 1+2*bits.OnesCount8(body[0]) {
					return short
				}
				mask := body[0]
				body = body[1:]
				for i := range entries[:min(8, len(entries))] {
					if mask>>i&1 != 0 {
						entries[i] = float16.Float16(binary.LittleEndian.Uint16(body))
						body = body[2:]
					}
				}
			}
		}
	}
	_, err = r.take(closing(width))
	return err
}

// int8 reads a plane of signed bytes, each times its channel's scale.
func (r *laneReader) int8(w, scale []float16.Float16) error {
	b, err := r.take(len(w))
	if err != nil {
		return err
	}
	width := len(scale)
	taps := len(w) / width
	q, column := make([]byte, taps), make([]float16.Float16, taps)
	for j := range scale {
		for i := range q {
			q[i] = b[i*width+j]
		}
		if err := mac.UnpackInt8(column, q, scale[j:j+1]); err != nil {
			return err
		}
		for i, h := range column {
			w[i*width+j] = h
		}
	}
	return nil
}
