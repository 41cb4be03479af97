package tiles

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
)

// A Packing is a storage format of weights, such as dense fp16 or 8-bit integers.
type Packing uint8

// Storage formats of weights. Convolutions of stride 2 use ZeroSkipping, and all other known
// programs use Dense. How the other formats store a plane of weights is assumed. In every format
// the row of biases precedes the plane.
const (
	Dense        Packing = iota
	ZeroSkipping         // stride 2: a byte count, then a mask and the non-zero fp16 values of each step
	Masked               // stride 1: one mask for the plane, LSB first, then its non-zero fp16 values
	Palette              // a codebook of 2^bits fp16 values, then the lane's planes, which hold indices
	Int8                 // a row of fp16 scales before each plane, which holds signed bytes
)

// String returns the name of the format, such as "zero-skipping".
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

// PackingOf returns the storage format that the registers g select. The note is empty if the model
// can read weights in this format, and otherwise says why it cannot.
func PackingOf(g *regs.Groups) (p Packing, note string) {
	k, cc := g.NE.KernelCfg, g.Common.ConvCfg
	int8 := k.KernelFmt() != regs.FormatFP16
	switch {
	case k.PalEn() && k.Sparse(), int8 && (k.PalEn() || k.Sparse()):
		return p, "weights packed in two ways are not modelled"
	case k.PalEn() && k.PalBits() != 4 && k.PalBits() != 8:
		return p, fmt.Sprintf("palette of %d bits is not modelled; want 4 or 8", k.PalBits())
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

// unpackWeights replaces the packed weights in all streams by dense ones. If visit is not nil, it is
// called with the dense bytes and the width in channels of each plane, until it returns false.
func (k *Kernel) unpackWeights(g *regs.Groups, p Packing, visit func(plane []byte, width int) (more bool)) error {
	groups := g.GroupCount()
	paletteBits := int(g.NE.KernelCfg.PalBits())
	need := k.countLaneBytes()
	for lane := range k.lanes {
		if need[lane] == 0 {
			continue
		}
		r := laneReader{layout: &k.layout, lane: lane, b: k.lanes[lane]}
		if p == Palette {
			// That a lane has one codebook, before all its planes, is assumed: no program shows a palette.
			r.codebook = make([]float16.Float16, 1<<paletteBits)
			if err := r.readHalves(r.codebook); err != nil {
				return err
			}
		}
		r.bits = paletteBits
		var dense []byte
		for group := range groups {
			for c := range k.forEachChunk {
				planes := (c.channels + c.width - 1) / c.width
				for plane := lane; plane < planes; plane += Engines {
					var err error
					first := len(dense)
					if dense, err = r.readPlane(dense, p, c.width*k.pixels); err != nil {
						return err
					}
					if visit != nil && !visit(dense[first:], c.width) {
						return nil
					}
					if k.hasAlignedPlanes(p) {
						r.skipPadding()
					}
				}
			}
			if group+1 < groups {
				r.skipPadding()
				// Packed groups are padded to 64 bytes, dense ones to k.group. The gap is filled, so that
				// the same address arithmetic serves both.
				dense = append(dense, make([]byte, (group+1)*k.group[lane]-len(dense))...)
			}
		}
		k.lanes[lane] = dense
	}
	return nil
}

// A laneReader reads the planes of a packed weight stream one after the other.
type laneReader struct {
	*layout
	lane     int
	b        []byte
	at       int
	codebook []float16.Float16
	bits     int
}

// readBytes returns the next n bytes of the stream, or an error if there are fewer.
func (r *laneReader) readBytes(n int) ([]byte, error) {
	if n > len(r.b)-r.at {
		return nil, &KernelError{r.lane, r.at + n, len(r.b)}
	}
	b := r.b[r.at : r.at+n]
	r.at += n
	return b, nil
}

// skipPadding skips bytes up to the next multiple of 64.
func (r *laneReader) skipPadding() { r.at = min((r.at+63)&^63, len(r.b)) }

// readHalves reads len(dst) fp16 values.
func (r *laneReader) readHalves(dst []float16.Float16) error {
	b, err := r.readBytes(2 * len(dst))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = float16.Float16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return nil
}

// readPlane reads a plane that is width channels wide. It returns dense with the plane's weights
// appended in dense form.
func (r *laneReader) readPlane(dense []byte, p Packing, width int) ([]byte, error) {
	scale := make([]float16.Float16, width)
	if p == Int8 {
		if err := r.readHalves(scale); err != nil {
			return nil, err
		}
	}
	head, err := r.readBytes(2 * r.bias * width)
	if err != nil {
		return nil, err
	}
	dense = append(dense, head...)
	// Nothing is allocated for a plane whose bytes are not there: a short file must not cost much memory.
	if n := r.minPlaneBytes(p, width, r.bits); n > len(r.b)-r.at {
		return nil, &KernelError{r.lane, r.at + n, len(r.b)}
	}
	w := make([]float16.Float16, r.taps*width)
	switch p {
	case ZeroSkipping:
		err = r.readZeroSkipping(w, width)
	case Masked:
		var n int
		if n, err = mac.UnpackSparse(w, r.b[r.at:]); err == nil {
			r.at += n
		}
	case Palette:
		var b []byte
		if b, err = r.readBytes((len(w)*r.bits + 7) / 8); err == nil {
			err = mac.UnpackPalette(w, r.codebook, b, r.bits)
		}
	case Int8:
		err = r.readInt8(w, scale)
	}
	if err != nil {
		return nil, fmt.Errorf("weight lane %d, byte %#x: cannot read %v weights: %w", r.lane, r.at, p, err)
	}
	for _, h := range w {
		dense = binary.LittleEndian.AppendUint16(dense, uint16(h))
	}
	return dense, nil
}

// minPlaneBytes returns the size of the smallest packed plane of the given width, which is one
// whose weights are all zero. It does not count the row of biases.
func (l *layout) minPlaneBytes(p Packing, width, paletteBits int) int {
	n := width * l.taps
	switch p {
	case ZeroSkipping:
		masks := 0 // bytes per input channel
		for taps := range l.forEachPhase {
			masks += l.countMaskBytes(taps * width)
		}
		return 2 + l.inputs*masks + countClosingBytes(width)
	case Masked:
		return (n + 7) / 8
	case Palette:
		return (n*paletteBits + 7) / 8
	case Int8:
		return n
	}
	return 2 * n
}

// forEachPhase calls yield for each stride phase, with row phases in the outer loop, until yield
// returns false. The argument of yield is the number of taps of an input channel in the phase.
func (l *layout) forEachPhase(yield func(taps int) bool) {
	for y := range min(l.sy, l.kh) {
		for x := range min(l.sx, l.kw) {
			if !yield(countInPhase(l.kh, l.sy, y) * countInPhase(l.kw, l.sx, x)) {
				return
			}
		}
	}
}

// countInPhase returns how many of the numbers 0 to n-1 leave the remainder p when divided by s.
func countInPhase(n, s, p int) int { return int(uint32(n-p+s-1) / uint32(s)) }

// countMaskBytes returns the number of mask and padding bytes of a phase with the given number of
// entries in zero-skipping weights.
func (l *layout) countMaskBytes(entries int) int {
	n := (entries + 7) >> 3
	if l.kh*l.kw == 1 {
		return n + 1
	}
	return n + n&1
}

// hasAlignedPlanes reports whether every plane starts at a multiple of 64 bytes. This is so for
// zero-skipping weights of unicast tasks, as inferred from the sizes of two convolutions.
func (l *layout) hasAlignedPlanes(p Packing) bool { return p == ZeroSkipping && l.unicast }

// countClosingBytes returns the number of zero bytes after the body of zero-skipping weights.
func countClosingBytes(width int) int { return max(0, width/2-2) }

// readZeroSkipping reads a plane of stride-2 weights. It starts with a 16-bit count of the bytes of
// its body. The body holds, for each input channel, its taps by stride phase. The entries of a
// phase are the width adjacent fp16 values of each of its taps. Every eight entries have a mask
// byte, lowest bit first, followed by the values of the set bits. A phase with an odd number of
// masks starts with a zero byte, and so does every phase of a kernel with one tap. Wide planes end
// with width/2 - 2 zero bytes.
//
// The section of a 1x1 program that is packed this way has the hash of the compiler's section. For
// a 3x3 program the lane lengths agree, and the order of the entries is inferred.
func (r *laneReader) readZeroSkipping(w []float16.Float16, width int) error {
	count, err := r.readBytes(2)
	if err != nil {
		return err
	}
	body, err := r.readBytes(int(binary.LittleEndian.Uint16(count)))
	if err != nil {
		return err
	}
	short := fmt.Errorf("zero-skipping plane of %d bytes ends inside a channel", len(body))
	for len(w) > 0 {
		for taps := range r.forEachPhase {
			entries := w[:taps*width]
			w = w[len(entries):]
			// The only section with the compiler's hash is that of a 1x1 kernel, where each phase starts
			// with the byte. For larger kernels the lane lengths alone show it.
			if r.countMaskBytes(len(entries)) > (len(entries)+7)/8 {
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
	_, err = r.readBytes(countClosingBytes(width))
	return err
}

// readInt8 reads a plane of signed bytes into w and multiplies each by the scale of its channel.
func (r *laneReader) readInt8(w, scale []float16.Float16) error {
	b, err := r.readBytes(len(w))
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
