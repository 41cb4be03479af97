package onnx

import (
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// A source is where a tensor's values stand until they are asked for.
type source struct {
	r         io.ReaderAt
	at, bytes int64
}

// Leave has the tensor's values read from r when they are asked for: so many bytes from one
// on, as raw values stand in a file.
func (t *Tensor) Leave(r io.ReaderAt, at, bytes int64) {
	t.raw, t.File, t.source = nil, nil, &source{r, at, bytes}
}

// runs calls visit with the tensor's bytes, some whole elements at a time.
func (t *Tensor) runs(visit func(first int, b []byte)) error {
	if t.source == nil {
		visit(0, t.raw)
		return nil
	}
	const most = 64 << 10 // a multiple of every width
	s, w := t.source, int64(t.Type.Width())
	b := make([]byte, min(most, s.bytes))
	for at := int64(0); at < s.bytes; at += most {
		b = b[:min(most, s.bytes-at)]
		if _, err := s.r.ReadAt(b, s.at+at); err != nil {
			return t.errorf("values at byte %#x: %v", s.at+at, err)
		}
		visit(int(at/w), b)
	}
	return nil
}

// ReadFrom is Read of a file of size bytes that leaves the values of large tensors in it:
// they are read when they are asked for, and r must be there until then.
func ReadFrom(r io.ReaderAt, size int64) (*Model, error) {
	if size > MaxBytes {
		return nil, &FormatError{Off: MaxBytes, What: "the file is longer than a message may be"}
	}
	s := &skimmer{r: r, data: make([]byte, size), left: map[int64]int64{}}
	if err := s.skim(0, size, 0); err != nil {
		if err != errOther {
			return nil, err
		}
		// Read says what is wrong with it.
		clear(s.left)
		if err := s.read(0, size); err != nil {
			return nil, err
		}
	}
	m, err := Read(s.data)
	if err != nil {
		return nil, err
	}
	for _, t := range m.Constants {
		if n, ok := s.left[t.rawAt]; ok && n == int64(len(t.raw)) {
			t.Leave(r, t.rawAt, n)
		}
	}
	return m, nil
}

// A skimmer reads a file but for the values of large tensors. What it does not read takes
// no memory: it is never touched.
type skimmer struct {
	r    io.ReaderAt
	data []byte
	left map[int64]int64 // bytes of values by their place
}

// errOther is a file that is no message.
var errOther = errors.New("no message")

// path are the fields on the way to values: graph, initializer, raw_data.
var path = [...]protowire.Number{7, 5, 9}

// smallest is the bytes of values that are worth leaving.
const smallest = 16 << 10

func (s *skimmer) read(at, end int64) error {
	n, err := s.r.ReadAt(s.data[at:end], at)
	if int64(n) == end-at {
		return nil
	}
	return err
}

// skim reads the fields of a message at a depth of path.
func (s *skimmer) skim(at, end int64, depth int) error {
	const longest = 20 // bytes of a tag and a length
	for at < end {
		if err := s.read(at, min(at+longest, end)); err != nil {
			return err
		}
		head := s.data[at:min(at+longest, end)]
		num, wire, n := protowire.ConsumeTag(head)
		if n < 0 {
			return errOther
		}
		if wire != protowire.BytesType {
			k := protowire.ConsumeFieldValue(num, wire, head[n:])
			if k < 0 {
				return errOther
			}
			at += int64(n + k)
			continue
		}
		length, k := protowire.ConsumeVarint(head[n:])
		if k < 0 {
			return errOther
		}
		at += int64(n + k)
		if length > uint64(end-at) {
			return errOther
		}
		body := at + int64(length)
		switch large := length >= smallest; {
		case large && num == path[depth] && depth == len(path)-1:
			s.left[at] = int64(length)
		case large && num == path[depth]:
			if err := s.skim(at, body, depth+1); err != nil {
				return err
			}
		default:
			if err := s.read(at, body); err != nil {
				return err
			}
		}
		at = body
	}
	return nil
}
