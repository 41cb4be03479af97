package loader

import "io"

// A pieces value holds the bytes of a file, one part of which may be stored separately. Most of a
// large container is one section, so storing it separately avoids copying it.
type pieces struct {
	rest  []byte // all bytes except apart's
	apart extent // the separate part; absent if it has no data
}

func (f *pieces) totalBytes() uint64 { return uint64(len(f.rest)) + uint64(len(f.apart.data)) }

// bytesBeforeSeparate returns the bytes before the separate part, or all bytes if there is none.
func (f *pieces) bytesBeforeSeparate() []byte {
	if len(f.apart.data) == 0 {
		return f.rest
	}
	return f.rest[:f.apart.off]
}

// readRange returns the bytes from off up to end, which must be inside the file. It copies them
// only if they cross a border of the separate part.
func (f *pieces) readRange(off, end uint64) []byte {
	a, n := &f.apart, uint64(len(f.apart.data))
	switch {
	case n == 0 || end <= a.off:
		return f.rest[off:end:end]
	case off >= a.endOffset():
		return f.rest[off-n : end-n : end-n]
	case off >= a.off && end <= a.endOffset():
		return a.data[off-a.off : end-a.off : end-a.off]
	}
	return f.joinPieces()[off:end:end]
}

// writableBytes returns the n bytes at file offset off for writing. They must be outside
// the separate part.
func (f *pieces) writableBytes(off, n uint64) []byte {
	if k := uint64(len(f.apart.data)); k > 0 && off >= f.apart.endOffset() {
		off -= k
	}
	return f.rest[off : off+n]
}

// joinPieces returns the whole file in one slice.
func (f *pieces) joinPieces() []byte {
	if len(f.apart.data) == 0 {
		return f.rest
	}
	out := make([]byte, 0, f.totalBytes())
	out = append(append(out, f.bytesBeforeSeparate()...), f.apart.data...)
	return append(out, f.rest[f.apart.off:]...)
}

// WriteTo writes the file.
func (f *pieces) WriteTo(w io.Writer) (total int64, err error) {
	for _, b := range [...][]byte{f.bytesBeforeSeparate(), f.apart.data, f.rest[len(f.bytesBeforeSeparate()):]} {
		n, err := w.Write(b)
		if total += int64(n); err != nil {
			return total, err
		}
	}
	return total, nil
}
