package coeff

import (
	"maps"
	"slices"

	"anesim/loader/layer"
)

// A Section collects the constants of a program: its weights and activation tables. If SizesOnly is
// set, it only counts bytes, for a program that is timed but never run.
type Section struct {
	Data      []byte
	Bytes     int
	SizesOnly bool // stores no bytes

	tables map[string]int // offset of each table, by its bytes
}

// Add appends b to the section and returns the offset of its first byte.
func (s *Section) Add(b []byte) int {
	at := s.Bytes
	s.Bytes += len(b)
	if !s.SizesOnly {
		s.Data = append(s.Data, b...)
	}
	return at
}

// AddKernel appends the data of k to the section and returns the offset of its first byte. The
// section may keep k.Data without copying it, so the caller must not change it afterwards.
func (s *Section) AddKernel(k *Kernel) int {
	at, n := s.Bytes, len(k.Data)
	switch {
	case s.SizesOnly:
	case n > 0 && n <= cap(s.Data)-at && &s.Data[:at+1][at] == &k.Data[0]: // already packed in place, see Reserve
		s.Data, s.Bytes = s.Data[:at+n], at+n
		return at
	case at == 0 && n >= cap(s.Data):
		s.Data, s.Bytes = k.Data[:n:n], n // the full slice makes the next append copy it
		return 0
	default:
		return s.Add(k.Data)
	}
	s.Bytes += k.Size()
	return s.Bytes - k.Size()
}

// Reserve returns n zero bytes into which the caller can pack a kernel before passing it to
// [Section.AddKernel]. If the section has spare capacity, the bytes are part of it and AddKernel
// does not copy them. The caller must not add anything else in between.
func (s *Section) Reserve(n int) []byte {
	if at := len(s.Data); n <= cap(s.Data)-at {
		return s.Data[at : at+n : at+n]
	}
	return make([]byte, n)
}

// Copy appends n bytes of section from to s, starting at offset at of from.
func (s *Section) Copy(from *Section, at, n int) {
	if s.SizesOnly {
		s.Bytes += n
		return
	}
	s.Add(from.Data[at : at+n])
}

// Cut removes everything from offset n on.
func (s *Section) Cut(n int) {
	s.Data, s.Bytes = s.Data[:min(n, len(s.Data))], n
	maps.DeleteFunc(s.tables, func(_ string, at int) bool { return at >= n })
}

// Insert puts n zeros before the byte at offset at. The tables of the section move with the others;
// the caller must not place more of them.
func (s *Section) Insert(at, n int) {
	s.Bytes += n
	if !s.SizesOnly {
		s.Data = slices.Insert(s.Data, at, make([]byte, n)...)
	}
}

// Pad appends zeros until the length of the section is a multiple of unit.
func (s *Section) Pad(unit int) {
	s.AddZeros(layer.RoundUp(s.Bytes, unit) - s.Bytes)
}

// AddZeros appends n zeros and returns them, so that the caller can fill them in. If SizesOnly is
// set, the section does not keep the returned bytes.
func (s *Section) AddZeros(n int) []byte {
	s.Bytes += n
	if s.SizesOnly {
		return make([]byte, n)
	}
	s.Data = append(s.Data, make([]byte, n)...)
	return s.Data[len(s.Data)-n:]
}
