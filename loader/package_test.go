package loader

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A port of a package at the limits of its fields.
func TestPackagePortLimits(t *testing.T) {
	entry := func(edit func([]byte)) []byte {
		b := make([]byte, packagePort, packagePort+1)
		le.PutUint32(b, 1)
		le.PutUint32(b[4:], 5)
		le.PutUint32(b[12:], 1)
		for i := range 4 {
			le.PutUint32(b[16+4*i:], 1)
		}
		le.PutUint64(b[64:], ApertureBase)
		le.PutUint64(b[72:], 64)
		b = append(b, 'x')
		edit(b)
		return b
	}
	for _, tc := range []struct {
		name string
		edit func([]byte)
		off  int
		what string // of the error, "" for none
	}{
		{"as it is", func([]byte) {}, 0, ""},
		{"an output", func(b []byte) { le.PutUint32(b, 2) }, 0, ""},
		{"the last buffer", func(b []byte) { le.PutUint32(b[4:], 32) }, 0, ""},
		{"one beyond", func(b []byte) { le.PutUint32(b[4:], 33) }, 4, "want less than 0x20"},
		{"no buffer", func(b []byte) { le.PutUint32(b[4:], 0) }, 0, ""},
		{"a name that is longer than the entry", func(b []byte) { le.PutUint32(b[12:], 2) }, 12, "differs from the 0x1 bytes after the entry"},
		{"an extent of all bytes", func(b []byte) { le.PutUint32(b[28:], 64) }, 0, ""},
		{"one more", func(b []byte) { le.PutUint32(b[28:], 65) }, 28, "between 1 and the port's 0x40"},
		{"none", func(b []byte) { le.PutUint32(b[20:], 0) }, 20, "size of axis c"},
		{"two rows to the last byte", func(b []byte) { le.PutUint32(b[24:], 2); le.PutUint64(b[48:], 63) }, 0, ""},
		{"and beyond it", func(b []byte) { le.PutUint32(b[24:], 2); le.PutUint64(b[48:], 64) }, 72, "is less than the 0x41 bytes needed"},
		{"and further", func(b []byte) { le.PutUint32(b[24:], 2); le.PutUint64(b[48:], 65) }, 48, "stride of axis h reaches past the port's"},
		{"three rows to the last byte", func(b []byte) { le.PutUint32(b[24:], 3); le.PutUint64(b[48:], 31) }, 0, ""},
		{"and a stride beyond it", func(b []byte) { le.PutUint32(b[24:], 3); le.PutUint64(b[48:], 33) }, 48, "stride of axis h reaches past the port's"},
		{"any stride of one row", func(b []byte) { le.PutUint64(b[48:], 1<<60) }, 0, ""},
	} {
		p := new(Program)
		err := p.readPackagePort(&PackageSection{Data: entry(tc.edit)})
		var f *FormatError
		switch {
		case tc.what == "" && (err != nil || len(p.Ports) != 1 || p.Ports[0].Name != "x"):
			t.Errorf("%s: %+v, %v", tc.name, p.Ports, err)
		case tc.what != "" && (!errors.As(err, &f) || f.Off != uint64(tc.off) || !strings.Contains(err.Error(), tc.what)):
			t.Errorf("%s: %v, want %q at byte %d", tc.name, err, tc.what, tc.off)
		}
	}
	p := new(Program)
	for i := range maxPorts + 1 {
		err := p.readPackagePort(&PackageSection{Data: entry(func([]byte) {})})
		if (err == nil) != (i < maxPorts) {
			t.Fatalf("port %d of at most %d: %v", i+1, maxPorts, err)
		}
	}
}

// Headers of a package's programs and sections that are cut off, and those that are not.
func TestPackageHeaders(t *testing.T) {
	good := firmwareExample(t, "conv")
	for n := range packageHeader {
		if _, _, err := readPackageProgram(good[:packageHeader+n], packageHeader); err == nil || !strings.Contains(err.Error(), "truncated") {
			t.Errorf("%d bytes of a program's header: %v", n, err)
		}
	}
	// A program of no sections, whose header is all of it.
	alone := bytes.Clone(good[:packageHeader+roundUpTo(packageHeader+4, packageAlign)])
	b := alone[packageHeader:]
	le.PutUint32(b[12:], 0)
	le.PutUint64(b[16:], uint64(len(b)))
	if q, end, err := readPackageProgram(alone, packageHeader); err != nil || end != uint64(len(alone)) || len(q.Sections) != 0 {
		t.Errorf("a header alone: %+v to %d, %v", q, end, err)
	}
	// With room for a section's header, and for one byte less.
	for _, n := range []int{packageHeader, packageHeader - 1} {
		c := append(bytes.Clone(alone), make([]byte, n)...)
		b := c[packageHeader:]
		le.PutUint32(b[12:], 1)
		le.PutUint64(b[16:], uint64(len(b)))
		s := c[len(alone):]
		le.PutUint32(s, magicFirmwareSect)
		le.PutUint32(s[4:], packageHeader)
		q, _, err := readPackageProgram(c, packageHeader)
		if whole := n == packageHeader; whole && (err != nil || len(q.Sections) != 1) || !whole && (err == nil || !strings.Contains(err.Error(), "truncated section 0 of 1")) {
			t.Errorf("%d bytes for a section: %+v, %v", n, q.Sections, err)
		}
	}
	// What stands after the last of each is counted.
	more := append(bytes.Clone(good), 0, 0, 0)
	le.PutUint64(more[16:], uint64(len(more)))
	if _, err := readPackage(more); err == nil || !strings.Contains(err.Error(), "3 unexpected bytes after the last program") {
		t.Errorf("%v", err)
	}
	le.PutUint64(more[packageHeader+16:], uint64(len(more)-packageHeader))
	if _, err := readPackage(more); err == nil || !strings.Contains(err.Error(), "3 unexpected bytes after the last section") {
		t.Errorf("%v", err)
	}
}
