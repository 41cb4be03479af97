package loader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"anesim/hw/regs"
)

// Options configures how programs are read. FirstWords and Windows apply only to a bare chain of
// descriptors, a file without a header.
type Options struct {
	FirstWords int      // words of the first descriptor; 0 to read up to the first zero padding
	Windows    []Window // addresses and sizes that override the ones derived from the descriptors

	// Procedure is the name of the procedure to read from a container, or "" for the first.
	Procedure string
	// Inspect allows containers of other chips to be read. Such a program has segments,
	// ports, symbols and a banner, but no descriptors. Inspect also allows a bare chain of
	// descriptors for which no memory layout exists; such a program has no memory. Neither
	// can be linked.
	Inspect bool
	// InFile leaves a bare chain of descriptors in its file, to save memory if the program
	// is only timed. Program.Text is then nil, and every walk of the chain reads from the
	// file, which [Options.Open] does not close. InFile has no effect on other forms, or if
	// descriptors access the memory of the chain.
	InFile bool
}

// A Window overrides the address and the size of one buffer when a bare chain of descriptors is
// read.
type Window struct {
	BAR   int
	Addr  uint64 // device address, 0 to have it placed
	Bytes uint64 // minimum size, 0 to have it derived
}

// Read reads a program of size bytes from r. name becomes Program.Name. Read detects the form from
// the content:
//
//   - 0xbeefface at offset 0: a hardware container of subtype 4
//   - 0x414e4548 at offset 0: a firmware container
//   - text of lines "0xADDRESS 0xVALUE", with comments after #: captured registers
//   - two or more (address, value) pairs of little-endian words up to the end of the
//     file, with distinct addresses that all lie in a version 10 window: captured registers in
//     binary form
//   - sizes, counts and shapes that are consistent: the Linux driver's form
//   - otherwise a chain of descriptors
//
// For parts of firmware containers, Mach-O files, dispatch descriptors and networks, Read returns
// an error that names the form. All errors are of type *FormatError or *UnsupportedError, except
// errors from r.
func Read(name string, r io.ReaderAt, size int64) (*Program, error) {
	return new(Options).Read(name, r, size)
}

// Open reads a program from the file with the given path, as [Read] does.
func Open(path string) (*Program, error) { return new(Options).Open(path) }

// Open reads a program from the file with the given path, as [Options.Read] does.
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

// Read reads a program of size bytes from r, like the function [Read], but with the options o.
func (o *Options) Read(name string, r io.ReaderAt, size int64) (*Program, error) {
	if size < 0 || size > MaxFile {
		return nil, newFormatError(0, nil, "unsupported file size of %d bytes; want at most %d", size, int64(MaxFile))
	}
	head, err := readExactSize(r, min(size, headBytes))
	if err != nil {
		return nil, err
	}
	if len(head) < 4 {
		return nil, newFormatError(0, nil, "file too short for a program: %d bytes; want at least 4", len(head))
	}
	// First, because a file of another kind deserves its name, not the error of a damaged program.
	if form := recognizeForeignForm(head); form != "" {
		return nil, &UnsupportedError{form, adviseOnForeignForm(form)}
	}
	// Do not read the rest of a file that cannot be a program.
	read, err := o.chooseReader(name, head, size)
	if err != nil {
		return nil, err
	}
	if read == nil {
		read = func(file []byte) (*Program, error) { return o.readBareChain(name, file) }
		if o.InFile && size > int64(len(head)) {
			return o.readBareChainInFile(name, r, size)
		}
	}
	file := head
	if size > int64(len(head)) {
		if file, err = readExactSize(r, size); err != nil {
			return nil, err
		}
	}
	return read(file)
}

// headBytes is the number of bytes by which the form of a file is recognised. It exceeds
// the longest descriptor and the Linux driver's header.
const headBytes = 64 << 10

// readExactSize reads the first size bytes. It reads the last byte first, so that a size beyond
// the end of the file is detected before memory is allocated.
func readExactSize(r io.ReaderAt, size int64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	at := func(b []byte, off int64) error {
		n, err := r.ReadAt(b, off)
		switch {
		case n == len(b):
			return nil
		case err == io.EOF:
			return newFormatError(uint64(off)+uint64(n), nil, "unexpected end of file; want %d bytes", size)
		}
		return err
	}
	if err := at(make([]byte, 1), size-1); err != nil {
		return nil, err
	}
	b := make([]byte, size)
	return b, at(b, 0)
}

// chooseReader returns the function that reads a file of size bytes with the first bytes head. The
// function is nil for a bare chain of descriptors. An error means that the file cannot be a
// program.
func (o *Options) chooseReader(name string, head []byte, size int64) (func(file []byte) (*Program, error), error) {
	switch le.Uint32(head) {
	case magicFirmware:
		return func(file []byte) (*Program, error) { return readFirmware(name, o.Procedure, file) }, nil
	case MagicContainer:
		return func(file []byte) (*Program, error) { return o.readContainer(name, file) }, nil
	}
	// Forms with a magic number come first. The others are told apart by contents that agree with the size
	// of the file, the least certain last.
	if isCaptureText(head) {
		if size > maxCapture {
			return nil, newFormatError(0, nil, "captured registers have %d bytes; want at most %d", size, maxCapture)
		}
		return func(file []byte) (*Program, error) { return readCaptureText(name, file) }, nil
	}
	if int64(len(head)) == size {
		if v := readCaptureBinary(head); v != nil {
			return func([]byte) (*Program, error) { return &Program{Name: name, Form: FormRegisters, Registers: v}, nil }, nil
		}
	}
	if h, ok := readANECHeader(head, size); ok {
		return func(file []byte) (*Program, error) { return readANEC(name, file, h) }, nil
	}
	if o.FirstWords < 0 || o.FirstWords > maxWords {
		return nil, newFormatError(0, nil, "option FirstWords is %d; want 0 to %d", o.FirstWords, maxWords)
	}
	switch d, err := regs.Decode(head, 0, 0, o.FirstWords); {
	case err != nil && utf8.Valid(head) && bytes.IndexByte(head, 0) < 0: // the words of a text say nothing as registers
		return nil, &UnknownFormError{&FormatError{What: "text of no known form; want a container, captured registers or a descriptor chain"}}
	case err != nil:
		return nil, newNotChainError(err)
	case len(d.Records) == 0:
		return nil, newNoRecordsError(d.Index, d.Offset)
	}
	return nil, nil
}

// readContainer reads a program from a hardware container. It refuses programs for
// other generations of the engine unless o.Inspect is set.
func (o *Options) readContainer(name string, file []byte) (*Program, error) {
	c, err := parseContainer(pieces{rest: file})
	if err != nil {
		return nil, err
	}
	if c.Subtype != SubtypeM1 && !o.Inspect {
		return nil, c.newUnsupportedError()
	}
	return c.toProgram(name, o.Procedure)
}

// newNotChainError returns the error for a file that does not begin with a descriptor. err says why
// its first bytes are not one.
func newNotChainError(err error) error {
	var broken *regs.StreamError
	if !errors.As(err, &broken) {
		return err
	}
	return &UnknownFormError{&FormatError{Off: broken.Off, What: "unknown file format; want a container, captured registers or a descriptor chain", Err: err}}
}

// newNoRecordsError returns the error for a descriptor that writes no register. Zeros
// decode to such descriptors.
func newNoRecordsError(index int, off uint32) error {
	return newFormatError(uint64(off), nil, "not a program: descriptor %d has no register records", index)
}

// Values of UnsupportedError.Form for files that other packages read.
const (
	DispatchDescriptor = "dispatch descriptor (.e5, FlatBuffer)" // package e5
	DescriptorText     = "descriptor text"                       // package asm
)

// recognizeForeignForm returns the name of the form of file, such as "Mach-O file", if the package
// recognises that form but does not read it. Otherwise it returns "".
func recognizeForeignForm(file []byte) string {
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
	if isDispatchDescriptor(file) {
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

// adviseOnForeignForm returns advice on a file of the given foreign form, for an error message.
func adviseOnForeignForm(form string) string {
	switch form {
	case DescriptorText:
		return "not a compiled program; anesim asm assembles it"
	case DispatchDescriptor:
		return "refers to containers but contains none; anesim dump prints it and finds them"
	case "network description (property list)":
		return "input of the compiler, not a compiled program; unsupported"
	case "intermediate text of a network (MIL)":
		return "network, not a compiled program"
	}
	return "unsupported; want a hardware or firmware container, the Linux driver's form, a bare text or captured registers"
}

// isDispatchDescriptor reports whether the file is a dispatch descriptor. It recognises the
// virtual table that the root tables of all dispatch descriptors share: 12 bytes, for a
// table of 20 bytes with fields at 4, 8, 12 and 16 (decompiled).
func isDispatchDescriptor(file []byte) bool {
	root := uint64(le.Uint32(file))
	if root%4 != 0 || root+4 > uint64(len(file)) {
		return false
	}
	table := int64(root) - int64(int32(le.Uint32(file[root:])))
	tag := []byte{0x0c, 0, 0x14, 0, 0x04, 0, 0x08, 0}
	return table >= 0 && table < int64(len(file)) && bytes.HasPrefix(file[table:], tag)
}
