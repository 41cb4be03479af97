package firmware

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The binary form of an init table, little-endian. The documents give the sizes. The widths
// inside a descriptor are assumed: the longest block name has 21 bytes and does not fit
// with the other three fields, so the name is a pointer, and four 64-bit words fill the 32
// bytes.
//
//	descriptor, one per block in order   name pointer u64, MMIO base u64,
//	                                     record pointer u64, record count u64
//	descriptor of zeros                  the end
//	names                                each ended by a zero byte
//	records                              offset u32, mask u32, value u32
//
// Pointers are byte offsets in the file.
const (
	descriptorBytes = 32
	recordBytes     = 12
	maxName         = 64 // maximum bytes of a name, including the zero byte
)

// ReadInit reads an init table, the list of register writes that start the engine, from the first
// size bytes of r. If one of the first 32 bytes is zero, the table must be in binary form.
// Otherwise, it must be CSV; see [ReadInitCSV]. A binary table must be complete: it must have the
// blocks, base addresses and record counts of the M1's table. All errors are of type *[InitError].
func ReadInit(r io.ReaderAt, size int64) (*InitTable, error) {
	if size <= 0 {
		return nil, &InitError{Index: -1, Off: 0, What: "file is empty; want an init table"}
	}
	head := make([]byte, min(size, descriptorBytes))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, &InitError{Index: -1, Off: 0, What: err.Error(), Err: err}
	}
	if bytes.IndexByte(head, 0) < 0 {
		return ReadInitCSV(io.NewSectionReader(r, 0, size))
	}
	return (&binaryReader{r: r, size: size}).readInitTable()
}

type binaryReader struct {
	r     io.ReaderAt
	size  int64
	check checker
	t     InitTable
}

// readBytes returns the n bytes at offset off of the file. If they are outside the file, it returns
// an error that names the data (what) and the offset of the pointer to it (at).
func (b *binaryReader) readBytes(at, off, n uint64, what string) ([]byte, error) {
	fail := func(err error, format string, args ...any) ([]byte, error) {
		return nil, &InitError{Index: len(b.t.Records), Off: int64(at), What: "cannot read " + what + ": " + fmt.Sprintf(format, args...), Err: err}
	}
	size := uint64(b.size)
	if off >= size {
		return fail(nil, "offset %#x is past the end of the file (%#x bytes)", off, size)
	}
	if n > size-off {
		return fail(nil, "%d bytes at %#x extend past the end of the file (%#x bytes)", n, off, size)
	}
	p := make([]byte, n)
	if _, err := b.r.ReadAt(p, int64(off)); err != nil && !(errors.Is(err, io.EOF) && off+n == size) {
		return fail(err, "%v", err)
	}
	return p, nil
}

func (b *binaryReader) readInitTable() (*InitTable, error) {
	for at := uint64(0); ; at += descriptorBytes {
		d, err := b.readBytes(at, at, descriptorBytes, "block descriptor")
		if err != nil {
			return nil, err
		}
		le := binary.LittleEndian
		name, base, records, count := le.Uint64(d), le.Uint64(d[8:]), le.Uint64(d[16:]), le.Uint64(d[24:])
		if name|base|records|count == 0 {
			break
		}
		if err := b.readInitBlock(at, name, base, records, count); err != nil {
			return nil, err
		}
	}
	for _, want := range Blocks() {
		if b.check.counts[want.Name] == 0 {
			return nil, &InitError{Index: len(b.t.Records), Block: want.Name, Off: -1,
				What: "missing block descriptor"}
		}
	}
	return &b.t, nil
}

func (b *binaryReader) readInitBlock(at, name, base, records, count uint64) error {
	fail := func(block string, field int64, format string, args ...any) error {
		return &InitError{Index: len(b.t.Records), Block: block, Off: int64(at) + field, What: fmt.Sprintf(format, args...)}
	}
	text, err := b.readBytes(at, name, min(maxName, max(uint64(b.size), name)-name), "block name")
	if err != nil {
		return err
	}
	text, _, ended := bytes.Cut(text, []byte{0})
	if !ended {
		return fail("", 0, "block name at %#x is not terminated within %d bytes", name, len(text))
	}
	block, ok := blockNamed(string(text))
	switch {
	case !ok:
		return fail("", 0, "unknown block %q; want a block in the M1's init table", text)
	case base != block.Base:
		return fail(block.Name, 8, "MMIO base is %#x; want %#x", base, block.Base)
	case b.check.counts[block.Name] != 0:
		return fail(block.Name, 0, "duplicate block descriptor")
	case count != uint64(block.Records):
		// Index of the first record that is missing or superfluous.
		index := len(b.t.Records) + int(min(count, uint64(block.Records)))
		return &InitError{Index: index, Block: block.Name, Off: int64(at) + 24,
			What: fmt.Sprintf("record count is %d; want %d for the M1", count, block.Records)}
	}
	body, err := b.readBytes(at+16, records, recordBytes*count, "records of "+block.Name)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	for i := range count {
		p := body[recordBytes*i:]
		rec := InitRecord{block.Name, le.Uint32(p), le.Uint32(p[4:]), le.Uint32(p[8:]), "bytes", "init table file"}
		if what := b.check.checkRecord(rec); what != "" {
			return &InitError{Index: len(b.t.Records), Block: block.Name, Off: int64(records + recordBytes*i), What: what}
		}
		b.t.Records = append(b.t.Records, rec)
	}
	return nil
}

// AppendBinary appends the table in binary form to dst and returns the extended slice. It omits the
// Evidence and Source of records. If the table is invalid, AppendBinary returns dst and the
// *[InitError] of [InitTable.Check].
func (t *InitTable) AppendBinary(dst []byte) ([]byte, error) {
	if err := t.Check(); err != nil {
		return dst, err
	}
	var used []Block
	var names []byte
	// Blocks come in the documents' order, whatever the order of the records, so that equal tables
	// give equal bytes.
	for _, b := range Blocks() {
		if t.Count(b.Name) > 0 {
			used = append(used, b)
			names = append(append(names, b.Name...), 0)
		}
	}
	le := binary.LittleEndian
	// One descriptor more than there are blocks: the reader stops at one of zeros. Records are words
	// of 4 bytes, so the names before them are padded to a multiple of 4.
	name := uint64(descriptorBytes * (len(used) + 1))
	records := (name + uint64(len(names)) + 3) &^ 3
	padding := records - name - uint64(len(names))
	for _, b := range used {
		n := uint64(t.Count(b.Name))
		for _, v := range [...]uint64{name, b.Base, records, n} {
			dst = le.AppendUint64(dst, v)
		}
		name += uint64(len(b.Name)) + 1
		records += recordBytes * n
	}
	dst = append(dst, make([]byte, descriptorBytes)...)
	dst = append(append(dst, names...), make([]byte, padding)...)
	for _, b := range used {
		for _, r := range t.Records {
			if r.Block == b.Name {
				dst = le.AppendUint32(dst, r.Offset)
				dst = le.AppendUint32(dst, r.Mask)
				dst = le.AppendUint32(dst, r.Value)
			}
		}
	}
	return dst, nil
}
