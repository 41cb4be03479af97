package loader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"anesim/hw/regs"
)

// Options say what a file does not. FirstWords and Windows matter to a bare text only.
type Options struct {
	FirstWords int      // words of the first descriptor; 0 reads to the first zero padding
	Windows    []Window // memory the caller knows better than the descriptors

	// Procedure is the procedure of a container to read, its first when empty.
	Procedure string
	// Inspect reads containers of other generations too, for what does not depend on
	// the generation: segments, ports, symbols and banner. Such a program has no
	// descriptors and does not link. A bare text whose memory cannot be laid out from its
	// descriptors is read too, without memory.
	Inspect bool
	// InFile leaves the chain of a bare text in its file, for programs that are only timed:
	// Program.Text is nil, and the reader is read whenever the chain is walked. A program of
	// another form, or whose descriptors move bytes of the text, is read as ever. Open then
	// leaves closing the file to the collector.
	InFile bool
}

// A Window is the memory behind a buffer index.
type Window struct {
	BAR   int
	Addr  uint64 // device address, 0 to have it placed
	Bytes uint64 // size, 0 to have it derived
}

// Read reads a program of size bytes; name is what errors of others may call it. The
// form is recognised by content:
//
//   - 0xbeefface at offset 0: a hardware container of subtype 4
//   - 0x414e4548 at offset 0: a firmware container
//   - text of lines "0xADDRESS 0xVALUE", # starting a comment: captured registers
//   - two or more (address, value) pairs of little-endian words to the end of the
//     file, every address different and in a version 10 window: the same in binary
//   - sizes, counts and shapes that add up: the Linux driver's form
//   - otherwise a chain of descriptors
//
// No chain passes for binary pairs: the third word of a descriptor, its log events, is
// outside the windows in every real program (0x400 to 0x42a). Nor does one pass for the
// Linux driver's form, which has no magic: its sizes have to add up and its tensors to be
// counted. Parts of firmware containers, Mach-O files, dispatch descriptors and networks are
// refused by name.
//
// Errors are a *FormatError, an *UnsupportedError, or that of r.
func Read(name string, r io.ReaderAt, size int64) (*Program, error) {
	return new(Options).Read(name, r, size)
}

// Open reads the program in a file.
func Open(path string) (*Program, error) { return new(Options).Open(path) }

// Open is Open with options.
func (o *Options) Open(path string) (*Program, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if !o.InFile {
		defer f.Close()
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return o.Read(filepath.Base(path), f, info.Size())
}

// Read is Read with options.
func (o *Options) Read(name string, r io.ReaderAt, size int64) (*Program, error) {
	if size < 0 || size > MaxFile {
		return nil, fail(0, nil, "file of %d bytes, want at most %d", size, int64(MaxFile))
	}
	head, err := readExact(r, min(size, headBytes))
	if err != nil {
		return nil, err
	}
	if len(head) < 4 {
		return nil, fail(0, nil, "file of %d bytes is no program", len(head))
	}
	if form := foreign(head); form != "" {
		return nil, &UnsupportedError{form, foreignAdvice(form)}
	}
	// What the head shows to be no program is not read further.
	read, err := o.recognise(name, head, size)
	if err != nil {
		return nil, err
	}
	if read == nil {
		read = func(file []byte) (*Program, error) { return o.readText(name, file) }
		if o.InFile && size > int64(len(head)) {
			return o.leaveText(name, r, size)
		}
	}
	file := head
	if size > int64(len(head)) {
		if file, err = readExact(r, size); err != nil {
			return nil, err
		}
	}
	return read(file)
}

// headBytes is what a file's form is recognised by: more than the longest descriptor and
// the Linux driver's header take.
const headBytes = 64 << 10

// readExact reads the first size bytes. The last of them is read ahead of the rest, so
// that a size that is not the file's costs no memory.
func readExact(r io.ReaderAt, size int64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	at := func(b []byte, off int64) error {
		n, err := r.ReadAt(b, off)
		switch {
		case n == len(b):
			return nil
		case err == io.EOF:
			return fail(uint64(off)+uint64(n), nil, "file ends, want %d bytes", size)
		}
		return err
	}
	if err := at(make([]byte, 1), size-1); err != nil {
		return nil, err
	}
	b := make([]byte, size)
	return b, at(b, 0)
}

// recognise finds the reader of a file of size bytes by its head, which is all of a file
// that is no longer. It is nil for a bare text. An error says that the file is no program,
// whatever follows.
func (o *Options) recognise(name string, head []byte, size int64) (func(file []byte) (*Program, error), error) {
	switch le.Uint32(head) {
	case magicFirmware:
		return func(file []byte) (*Program, error) { return readFirmware(name, o.Procedure, file) }, nil
	case MagicContainer:
		return func(file []byte) (*Program, error) { return o.readContainer(name, file) }, nil
	}
	if isCaptureText(head) {
		if size > maxCapture {
			return nil, fail(0, nil, "captured registers of %d bytes, want at most %d", size, maxCapture)
		}
		return func(file []byte) (*Program, error) { return readCaptureText(name, file) }, nil
	}
	if int64(len(head)) == size {
		if v := captureBinary(head); v != nil {
			return func([]byte) (*Program, error) { return &Program{Name: name, Form: FormRegisters, Registers: v}, nil }, nil
		}
	}
	if h, ok := readAnecHeader(head, size); ok {
		return func(file []byte) (*Program, error) { return readAnec(name, file, h) }, nil
	}
	if o.FirstWords < 0 || o.FirstWords > maxWords {
		return nil, fail(0, nil, "first descriptor of %d words, want at most %d", o.FirstWords, maxWords)
	}
	switch d, err := regs.Decode(head, 0, 0, o.FirstWords); {
	case err != nil:
		return nil, notChain(err)
	case len(d.Records) == 0:
		return nil, noRecords(d.Index, d.Offset)
	}
	return nil, nil
}

// readContainer reads a hardware container.
func (o *Options) readContainer(name string, file []byte) (*Program, error) {
	c, err := parseContainer(pieces{rest: file})
	if err != nil {
		return nil, err
	}
	if c.Subtype != SubtypeM1 && !o.Inspect {
		return nil, c.unsupported()
	}
	return c.program(name, o.Procedure)
}

// notChain is the error of a file whose first bytes are no descriptor.
func notChain(err error) error {
	var broken *regs.StreamError
	if !errors.As(err, &broken) {
		return err
	}
	return wrap(broken.Off, err, "no program: neither a container, captured registers nor a chain")
}

// noRecords is the error of a descriptor that writes nothing, as zeros are read.
func noRecords(index int, off uint32) error {
	return fail(uint64(off), nil, "no program: descriptor %d has no register records", index)
}

// What an UnsupportedError calls forms that other packages read.
const (
	DispatchDescriptor = "dispatch descriptor (.e5, FlatBuffer)" // package e5
	DescriptorText     = "descriptor text"                       // package asm
)

// foreign names a form the package knows and does not read, or is empty.
func foreign(file []byte) string {
	switch le.Uint32(file) {
	case magicFirmwareProg, magicFirmwareSect:
		return fmt.Sprintf("part of a firmware container (%s)", file[:4])
	case magicMachO32, magicMachO64, magicFat:
		return "Mach-O file"
	}
	switch binary.BigEndian.Uint32(file) {
	case magicMachO32, magicMachO64:
		return "Mach-O file, big-endian"
	}
	if isDispatch(file) {
		return DispatchDescriptor
	}
	text := bytes.TrimLeft(file[:min(len(file), 4096)], " \t\r\n\ufeff")
	switch {
	case bytes.HasPrefix(file, []byte("bplist")), bytes.HasPrefix(text, []byte("<?xml")) && bytes.Contains(text, []byte("<plist")),
		bytes.HasPrefix(text, []byte("<!DOCTYPE plist")), bytes.HasPrefix(text, []byte("<plist")):
		return "network description (property list)"
	case bytes.HasPrefix(text, []byte("program(")), bytes.HasPrefix(text, []byte("program (")):
		return "intermediate text of a network (MIL)"
	case bytes.IndexByte(text, 0) < 0 && bytes.Contains(text, []byte("\n.td")), bytes.HasPrefix(text, []byte(".td")):
		return DescriptorText
	}
	return ""
}

// foreignAdvice says what to do with a file of a form that is not a program.
func foreignAdvice(form string) string {
	switch form {
	case DescriptorText:
		return "anesim asm makes a program of it"
	case DispatchDescriptor:
		return "it names containers and holds none; anesim dump prints it and finds them"
	case "network description (property list)":
		return "it is what the compiler reads; no reader of it is here"
	case "intermediate text of a network (MIL)":
		return "it is a network, not a compiled program"
	}
	return "the model reads hardware and firmware containers, the Linux driver's form, bare texts and captured registers"
}

// isDispatch recognises the root table of a dispatch descriptor by the virtual table
// every one has: 12 bytes, a table of 20, fields at 4, 8, 12 and 16 (decompiled).
func isDispatch(file []byte) bool {
	root := uint64(le.Uint32(file))
	if root%4 != 0 || root+4 > uint64(len(file)) {
		return false
	}
	table := int64(root) - int64(int32(le.Uint32(file[root:])))
	tag := []byte{0x0c, 0, 0x14, 0, 0x04, 0, 0x08, 0}
	return table >= 0 && table < int64(len(file)) && bytes.HasPrefix(file[table:], tag)
}
