package onnx

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
)

// A deferredValues says where in a file the values of a tensor are, which are read when they are
// needed.
type deferredValues struct {
	r         io.ReaderAt
	at, bytes int64
}

// ReadFromFile makes t read its values from the size bytes at offset in r, in little-endian order.
// The bytes are read on demand, so r must stay open, unless it is a [File].
func (t *Tensor) ReadFromFile(r io.ReaderAt, offset, size int64) {
	t.raw, t.File, t.source = nil, nil, &deferredValues{r, offset, size}
}

// forEachChunk calls visit for successive parts of the bytes of t. Each part holds whole elements,
// and first is the index of the first one.
func (t *Tensor) forEachChunk(visit func(first int, b []byte)) error {
	if t.source == nil {
		visit(0, t.raw)
		return nil
	}
	const most = 64 << 10 // a multiple of every element width
	s, bits := t.source, int64(t.Type.Bits())
	if f, ok := s.r.(*File); ok {
		if err := f.acquire(); err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		defer f.Close()
	}
	b := make([]byte, min(most, s.bytes))
	for at := int64(0); at < s.bytes; at += most {
		b = b[:min(most, s.bytes-at)]
		if _, err := s.r.ReadAt(b, s.at+at); err != nil {
			return t.errorf("reading values at byte %#x: %v", s.at+at, err)
		}
		visit(int(at*8/bits), b)
	}
	return nil
}

// leastParallel is the size in bytes from which the elements of a tensor are read by several
// goroutines.
const leastParallel = 4 << 20

// forEachChunkInParallel does the same as forEachChunk, but calls visit from several goroutines and in
// any order. Calls for different parts must not depend on each other.
func (t *Tensor) forEachChunkInParallel(visit func(first int, b []byte)) error {
	s, workers := t.source, int64(runtime.GOMAXPROCS(0))
	if s == nil || s.bytes < leastParallel || workers < 2 {
		return t.forEachChunk(visit)
	}
	const unit = 64 << 10 // a multiple of every element width
	share := (s.bytes/workers/unit + 1) * unit
	errs := make([]error, workers)
	var all sync.WaitGroup
	for k := range workers {
		begin := min(s.bytes, k*share)
		part := *t
		part.source = &deferredValues{s.r, s.at + begin, min(s.bytes, begin+share) - begin}
		all.Go(func() {
			first := int(begin / int64(t.Type.Width()))
			errs[k] = part.forEachChunk(func(at int, b []byte) { visit(first+at, b) })
		})
	}
	all.Wait()
	return cmp.Or(errs...) // the first one in the file
}

// Lasting reports whether the values of t are numbers of 16 bits or more in a file that can be read
// at any time, because it is opened again for each read.
func (t *Tensor) Lasting() bool {
	if t.source == nil {
		return false
	}
	_, again := t.source.r.(*File)
	return again && t.Type.IsFloat() && t.Type.Bits() >= 16
}

// CountBeyondHalf returns the number of finite elements of t that round to infinity in fp16. It needs
// a tenth of the time of [Tensor.Halves] and no memory for float32 elements.
func (t *Tensor) CountBeyondHalf() (int, error) {
	var count atomic.Int64
	one := func(v float64) {
		if v = math.Abs(v); v >= leastBeyondHalf && !math.IsInf(v, 0) {
			count.Add(1)
		}
	}
	if t.Type == Float16 {
		return 0, nil
	}
	if t.Type != Float || t.source == nil {
		err := t.Each(func(_ int, v float64) { one(v) })
		return int(count.Load()), err
	}
	err := t.forEachChunkInParallel(func(_ int, b []byte) {
		// Both halves of a word at once: adding room to the magnitude of a float32 carries into its
		// sign if it is leastBeyondHalf or more.
		const (
			signs = 1<<63 | 1<<31
			room  = (1<<31 - leastBeyondHalfBits) * (1<<32 + 1)
		)
		for ; len(b) >= 32; b = b[32:] {
			w := (binary.LittleEndian.Uint64(b)&^signs + room) | (binary.LittleEndian.Uint64(b[8:16])&^signs + room) |
				(binary.LittleEndian.Uint64(b[16:24])&^signs + room) | (binary.LittleEndian.Uint64(b[24:32])&^signs + room)
			for i := 0; w&signs != 0 && i < 32; i += 4 {
				one(float64(float32FromBits(binary.LittleEndian.Uint32(b[i:]))))
			}
		}
		for ; len(b) >= 4; b = b[4:] {
			one(float64(float32FromBits(binary.LittleEndian.Uint32(b))))
		}
	})
	return int(count.Load()), err
}

// leastBeyondHalf is the smallest number that rounds to infinity in fp16, and leastBeyondHalfBits are
// its bits as a float32.
const (
	leastBeyondHalf     = 65520
	leastBeyondHalfBits = 0x477ff000
)

// ReadFrom is like [Read], but reads the model from r, a file of size bytes, and does not load the
// values of large tensors. These are read when they are needed, so r must stay open, unless it is a
// [File].
func ReadFrom(r io.ReaderAt, size int64) (*Model, error) {
	if size > MaxBytes {
		return nil, &FormatError{Off: MaxBytes, What: "file exceeds the protocol buffer limit of 2 GB"}
	}
	s := &skimmer{r: r, data: make([]byte, size), deferred: map[int64]int64{}}
	if err := s.skimMessage(0, size, 0); err != nil {
		if err != errNotMessage {
			return nil, err
		}
		// Read the whole file, so that Read reports the error.
		clear(s.deferred)
		if err := s.readBytes(0, size); err != nil {
			return nil, err
		}
	}
	m, err := Read(s.data)
	if err != nil {
		return nil, err
	}
	for _, t := range m.Constants {
		if n, ok := s.deferred[t.rawAt]; ok && n == int64(len(t.raw)) {
			t.ReadFromFile(r, t.rawAt, n)
		}
	}
	return m, nil
}

// A skimmer reads a file except for the values of large tensors. It does not touch the skipped
// parts of data, so that they take no memory.
type skimmer struct {
	r        io.ReaderAt
	data     []byte
	deferred map[int64]int64 // sizes of skipped values by offset
}

// errNotMessage is returned for a file that is not a protocol-buffer message.
var errNotMessage = errors.New("not a protocol-buffer message")

// valuesPath lists the nested fields that lead to values: graph, initializer, raw_data.
var valuesPath = [...]protowire.Number{7, 5, 9}

// minDeferred is the smallest size of values that are left in the file.
const minDeferred = 16 << 10

func (s *skimmer) readBytes(start, end int64) error {
	n, err := s.r.ReadAt(s.data[start:end], start)
	if int64(n) == end-start {
		return nil
	}
	return err
}

// skimMessage reads the fields of the message in the bytes from start to end. depth is the number
// of fields of valuesPath that lead to the message.
func (s *skimmer) skimMessage(start, end int64, depth int) error {
	const longest = 20 // bytes of a tag and a length
	for start < end {
		if err := s.readBytes(start, min(start+longest, end)); err != nil {
			return err
		}
		head := s.data[start:min(start+longest, end)]
		num, wire, n := protowire.ConsumeTag(head)
		if n < 0 {
			return errNotMessage
		}
		if wire != protowire.BytesType {
			k := protowire.ConsumeFieldValue(num, wire, head[n:])
			if k < 0 {
				return errNotMessage
			}
			start += int64(n + k)
			continue
		}
		length, k := protowire.ConsumeVarint(head[n:])
		if k < 0 {
			return errNotMessage
		}
		start += int64(n + k)
		if length > uint64(end-start) {
			return errNotMessage
		}
		body := start + int64(length)
		// Large values of tensors stay in the file. Everything else, even if large, is read as part of the
		// model.
		switch large := length >= minDeferred; {
		case large && num == valuesPath[depth] && depth == len(valuesPath)-1:
			s.deferred[start] = int64(length)
		case large && num == valuesPath[depth]:
			if err := s.skimMessage(start, body, depth+1); err != nil {
				return err
			}
		default:
			if err := s.readBytes(start, body); err != nil {
				return err
			}
		}
		start = body
	}
	return nil
}
