package coeff

import "anesim/loader/layer"

// A Section is the constants of a program in the making. Of a program that is only timed
// it has the size and none of the bytes.
type Section struct {
	Data      []byte
	Bytes     int
	SizesOnly bool // keeps no bytes

	tables map[string]int // where a table's section is, by its bytes
}

// Add appends bytes and returns where they stand.
func (s *Section) Add(b []byte) int {
	at := s.Bytes
	s.Bytes += len(b)
	if !s.SizesOnly {
		s.Data = append(s.Data, b...)
	}
	return at
}

// AddKernel appends coefficients, which are the section's from then on.
func (s *Section) AddKernel(k *Kernel) int {
	at, n := s.Bytes, len(k.Data)
	switch {
	case s.SizesOnly:
	case n > 0 && n <= cap(s.Data)-at && &s.Data[:at+1][at] == &k.Data[0]: // made in their place
		s.Data, s.Bytes = s.Data[:at+n], at+n
		return at
	case at == 0 && n >= cap(s.Data):
		s.Data, s.Bytes = k.Data[:n:n], n // what follows is appended to a copy
		return 0
	default:
		return s.Add(k.Data)
	}
	s.Bytes += k.Size()
	return s.Bytes - k.Size()
}

// Room is n zeros for coefficients that are added next: where they are to stand, if the
// section was made that large.
func (s *Section) Reserve(n int) []byte {
	if at := len(s.Data); n <= cap(s.Data)-at {
		return s.Data[at : at+n : at+n]
	}
	return make([]byte, n)
}

// Copy appends n bytes of another section.
func (s *Section) Copy(from *Section, at, n int) {
	if s.SizesOnly {
		s.Bytes += n
		return
	}
	s.Add(from.Data[at : at+n])
}

// Pad appends zeros up to a multiple of unit.
func (s *Section) Pad(unit int) {
	if n := layer.RoundUp(s.Bytes, unit) - s.Bytes; n > 0 {
		s.AddZeros(n)
	}
}

// Zeros appends n zeros and returns them for the caller to fill in: bytes of nowhere in a
// section that keeps none.
func (s *Section) AddZeros(n int) []byte {
	s.Bytes += n
	if s.SizesOnly {
		return make([]byte, n)
	}
	s.Data = append(s.Data, make([]byte, n)...)
	return s.Data[len(s.Data)-n:]
}
