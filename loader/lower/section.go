package lower

// A section is the constants of a program in the making. Of a program that is only timed
// it has the size and none of the bytes.
type section struct {
	data  []byte
	bytes int
	sizes bool // keeps no bytes
}

// add appends bytes and returns where they stand.
func (s *section) add(b []byte) int {
	at := s.bytes
	s.bytes += len(b)
	if !s.sizes {
		s.data = append(s.data, b...)
	}
	return at
}

// addKernel appends coefficients, which are the section's from then on.
func (s *section) addKernel(k *kernel) int {
	at, n := s.bytes, len(k.data)
	switch {
	case s.sizes:
	case n > 0 && n <= cap(s.data)-at && &s.data[:at+1][at] == &k.data[0]: // made in their place
		s.data, s.bytes = s.data[:at+n], at+n
		return at
	case at == 0 && n >= cap(s.data):
		s.data, s.bytes = k.data[:n:n], n // what follows is appended to a copy
		return 0
	default:
		return s.add(k.data)
	}
	s.bytes += k.size()
	return s.bytes - k.size()
}

// room is n zeros for coefficients that are added next: where they are to stand, if the
// section was made that large.
func (s *section) room(n int) []byte {
	if at := len(s.data); n <= cap(s.data)-at {
		return s.data[at : at+n : at+n]
	}
	return make([]byte, n)
}

// copy appends n bytes of another section.
func (s *section) copy(from *section, at, n int) {
	if s.sizes {
		s.bytes += n
		return
	}
	s.add(from.data[at : at+n])
}

// pad appends zeros up to a multiple of unit.
func (s *section) pad(unit int) {
	if n := roundUp(s.bytes, unit) - s.bytes; n > 0 {
		s.zeros(n)
	}
}

// zeros appends n zeros and returns them for the caller to fill in: bytes of nowhere in a
// section that keeps none.
func (s *section) zeros(n int) []byte {
	s.bytes += n
	if s.sizes {
		return make([]byte, n)
	}
	s.data = append(s.data, make([]byte, n)...)
	return s.data[len(s.data)-n:]
}
