package loader

import "fmt"

// A Kernel is coefficients in the order the kernel DMA reads them.
type Kernel struct {
	Data  []byte
	Lanes []Lane // at most 16
}

// A Lane is one engine's part of a kernel, in bytes from its start; both multiples of 64.
type Lane struct {
	Base, Size uint32
}

// lanes is the number of engines a dense kernel is spread over.
const lanes = 16

// PackLanes lays out the coefficients of fewer than 16 output channels, a lane each:
// the bias, if there is one, then the taps (bytes: conv_1x1_3to2_bias). weights[n] are
// channel n's taps in fp16 bits; bias is nil or has one value a channel.
func PackLanes(weights [][]uint16, bias []uint16) (*Kernel, error) {
	if n := len(weights); n == 0 || n >= lanes {
		return nil, fmt.Errorf("%d output channels in the form for fewer than %d", n, lanes)
	}
	if err := checkTaps(weights, bias); err != nil {
		return nil, err
	}
	k := new(Kernel)
	for n := range weights {
		k.lane(plane(nil, weights, bias, n, 1))
	}
	return k, nil
}

// PackDense lays out the coefficients of a multiple of 16 output channels (bytes: section
// hashes of the vendor's compiler). A plane holds g neighbouring channels, tap by tap
// with the channels side by side; planes go round the 16 lanes in turn. g is N/16, at
// most width, which is 16, or 32 over an input of at most 8x8 pixels: 224 channels make
// planes of 14. Channels that do not fill 16 such planes take a smaller g. A bias is a row
// of g halves ahead of each plane.
func PackDense(weights [][]uint16, bias []uint16, width int) (*Kernel, error) {
	count := len(weights)
	if count == 0 || count%lanes != 0 || width < 1 {
		return nil, fmt.Errorf("%d output channels in planes of up to %d, want a multiple of %d", count, width, lanes)
	}
	if err := checkTaps(weights, bias); err != nil {
		return nil, err
	}
	var perLane [lanes][]uint16
	for first := 0; first < count; {
		g := min(width, (count-first)/lanes)
		for range (count - first) / (g * lanes) {
			for i := range perLane {
				perLane[i] = plane(perLane[i], weights, bias, first, g)
				first += g
			}
		}
	}
	k := new(Kernel)
	for _, halves := range perLane {
		k.lane(halves)
	}
	return k, nil
}

func checkTaps(weights [][]uint16, bias []uint16) error {
	if bias != nil && len(bias) != len(weights) {
		return fmt.Errorf("%d biases of %d output channels", len(bias), len(weights))
	}
	for n, w := range weights {
		if len(w) == 0 || len(w) != len(weights[0]) {
			return fmt.Errorf("channel %d has %d taps, the first has %d", n, len(w), len(weights[0]))
		}
	}
	return nil
}

// plane appends g channels from first on, side by side.
func plane(dst []uint16, weights [][]uint16, bias []uint16, first, g int) []uint16 {
	if bias != nil {
		dst = append(dst, bias[first:first+g]...)
	}
	for k := range weights[first] {
		for n := range g {
			dst = append(dst, weights[first+n][k])
		}
	}
	return dst
}

// lane appends a lane, padded to a multiple of 64 bytes.
func (k *Kernel) lane(halves []uint16) {
	base := len(k.Data)
	for _, h := range halves {
		k.Data = le.AppendUint16(k.Data, h)
	}
	size := int(roundUp(uint64(len(k.Data)-base), TileSize))
	k.Data = append(k.Data, make([]byte, base+size-len(k.Data))...)
	k.Lanes = append(k.Lanes, Lane{uint32(base), uint32(size)})
}
