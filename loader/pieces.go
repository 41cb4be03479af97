package loader

import "io"

// Pieces are a file's bytes, of which one part may stand elsewhere: nearly all of a large
// container is one section, and what has the section need not copy it to have the file.
type pieces struct {
	rest  []byte // all bytes but those apart
	apart extent // none where it has no data
}

func (f *pieces) size() uint64 { return uint64(len(f.rest)) + uint64(len(f.apart.data)) }

// ahead is the bytes ahead of those apart.
func (f *pieces) ahead() []byte {
	if len(f.apart.data) == 0 {
		return f.rest
	}
	return f.rest[:f.apart.off]
}

// slice is the bytes from off up to but not end, which the file has. They are the file's
// own unless they begin in one piece and end in another.
func (f *pieces) slice(off, end uint64) []byte {
	a, n := &f.apart, uint64(len(f.apart.data))
	switch {
	case n == 0 || end <= a.off:
		return f.rest[off:end:end]
	case off >= a.end():
		return f.rest[off-n : end-n : end-n]
	case off >= a.off && end <= a.end():
		return a.data[off-a.off : end-a.off : end-a.off]
	}
	return f.join()[off:end:end]
}

// room is n bytes of the rest to be written at an offset of the file.
func (f *pieces) room(off, n uint64) []byte {
	if k := uint64(len(f.apart.data)); k > 0 && off >= f.apart.end() {
		off -= k
	}
	return f.rest[off : off+n]
}

// join is the file in one piece.
func (f *pieces) join() []byte {
	if len(f.apart.data) == 0 {
		return f.rest
	}
	out := make([]byte, 0, f.size())
	out = append(append(out, f.ahead()...), f.apart.data...)
	return append(out, f.rest[f.apart.off:]...)
}

// WriteTo writes the file.
func (f *pieces) WriteTo(w io.Writer) (total int64, err error) {
	for _, b := range [...][]byte{f.ahead(), f.apart.data, f.rest[len(f.ahead()):]} {
		n, err := w.Write(b)
		if total += int64(n); err != nil {
			return total, err
		}
	}
	return total, nil
}
