package loader

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// command is a load command of some size, its fields zero but for those given.
func command(kind Command, size int, fields map[int]uint64) []byte {
	b := make([]byte, size)
	le.PutUint32(b, uint32(kind))
	le.PutUint32(b[4:], uint32(size))
	for at, v := range fields {
		if at+8 <= size {
			le.PutUint64(b[at:], v)
		} else {
			le.PutUint32(b[at:], uint32(v))
		}
	}
	return b
}

// contained is a container of commands and what stands behind them.
func contained(behind int, loads ...[]byte) []byte {
	total := 0
	for _, l := range loads {
		total += len(l)
	}
	b := make([]byte, headerSize, headerSize+total+behind)
	for at, v := range map[int]uint32{4: cpuTypeEngine, 8: uint32(SubtypeM1), 12: fileExecutable, 16: uint32(len(loads)), 20: uint32(total)} {
		le.PutUint32(b[at:], v)
	}
	for _, l := range loads {
		b = append(b, l...)
	}
	return append(b, make([]byte, behind)...)
}

// Commands, names and fields at their limits, and the first beyond.
func TestContainerLimits(t *testing.T) {
	const unknown = 0x7f
	set := func(b []byte, at int, v uint32) []byte { le.PutUint32(b[at:], v); return b }
	port := func(size int, name string) []byte {
		b := command(CommandPort, size, map[int]uint64{8: 0x14})
		copy(b[min(0x14, len(b)):], name)
		return b
	}
	program := func(words, tasks uint32) []byte {
		b := command(CommandThread, programSize+4, nil)
		set(b, 8, uint32(flavorProgram))
		set(b, programFirstWords, words)
		set(b, programTasks, tasks)
		set(b, programName, programSize)
		return b
	}
	operation := func(direction, extent uint32, stride uint64) []byte {
		b := command(CommandThread, operationSize+4, nil)
		set(b, 8, uint32(flavorOperation))
		set(b, operationDirection, direction)
		for i := range 4 {
			set(b, operationShape+4*i, extent)
			le.PutUint64(b[operationStrides+8*i:], stride)
		}
		for _, name := range []int{operationProcedure, operationOperand, operationSymbol} {
			set(b, name, operationSize)
		}
		return b
	}
	many := func(n int) (list [][]byte) {
		for range n {
			list = append(list, command(unknown, commandHeader, nil))
		}
		return list
	}
	for _, tc := range []struct {
		name string
		file []byte
		what string // of the error, "" for none
	}{
		{"a header alone", contained(0), ""},
		{"a header less a byte", contained(0)[:headerSize-1], "truncated"},
		{"the shortest command", contained(0, command(unknown, commandHeader, nil)), ""},
		{"one too short", contained(0, set(command(unknown, commandHeader, nil), 4, commandHeader-1)), "is not between 0x8 and 0x8"},
		{"one that is longer than the rest", contained(8, set(command(unknown, commandHeader, nil), 4, commandHeader+1)), "is not between 0x8 and 0x8"},
		{"bytes after the last command", set(contained(8, command(unknown, commandHeader, nil)), 20, commandHeader+4), "4 unexpected bytes after the last load command"},
		{"less than a command behind it", set(set(contained(8, command(unknown, commandHeader+4, nil)), 16, 2), 20, commandHeader+8), "truncated load command 1 of 2"},
		{"commands to the file's end", set(contained(16, command(unknown, commandHeader, nil)), 20, 24), "16 unexpected bytes after"},
		{"commands beyond it", set(contained(16, command(unknown, commandHeader, nil)), 20, 25), "size of the load commands exceeds"},
		{"more commands than bytes", set(contained(0, command(unknown, commandHeader, nil)), 16, 2), "load command count is too large for"},
		{"as many commands as there may be", contained(0, many(maxLoads)...), ""},
		{"one more", contained(0, many(maxLoads+1)...), "count exceeds 0x1000"},
		{"a port with a name", contained(0, port(0x18, "abc")), ""},
		{"the shortest name", contained(0, port(0x15, "")), ""},
		{"a port without room for its fields", contained(0, port(0x13, "")), "want at least 0x14"},
		{"a port that ends with its fields", contained(0, port(0x14, "")), "name offset is past the end of the command"},
		{"a name without an end", contained(0, port(0x18, "abcd")), "has no zero byte"},
		{"the longest name", contained(0, port(0x14+maxName+1, strings.Repeat("n", maxName))), ""},
		{"a longer one", contained(0, port(0x14+maxName+2, strings.Repeat("n", maxName+1))), "has no zero byte"},
		{"a port of 64 bits without room", contained(0, command(CommandPort64, 0x17, map[int]uint64{8: 0x16})), "want at least 0x18"},
		{"a port of 64 bits", contained(0, command(CommandPort64, 0x19, map[int]uint64{8: 0x18})), ""},
		{"a thread of some other flavour", contained(0, command(CommandThread, 12, nil)), ""},
		{"a thread without one", contained(0, command(CommandThread, 11, nil)), "want at least 0xc"},
		{"a program of one descriptor", contained(0, program(0, 1)), ""},
		{"as many as the file has room for", contained(0, program(0, uint32((headerSize+programSize+4)/descriptorUnit+1))), ""},
		{"one more than that", contained(0, program(0, uint32((headerSize+programSize+4)/descriptorUnit+2))), "descriptor count"},
		{"none", contained(0, program(0, 0)), "descriptor count"},
		{"the longest first descriptor", contained(0, program(maxWords-1, 1)), ""},
		{"a longer one", contained(0, program(maxWords, 1)), "word count field of the first descriptor"},
		{"a program of its fields alone", contained(0, set(set(command(CommandThread, programSize, nil), 8, uint32(flavorProgram)), programTasks, 1)), ""},
		{"a program without its fields", contained(0, set(command(CommandThread, programSize-1, nil), 8, uint32(flavorProgram))), "program descriptor"},
		{"an input", contained(0, operation(1, 1, 0)), ""},
		{"an output of the largest extents", contained(0, operation(2, maxExtent, 1<<42-1)), ""},
		{"neither", contained(0, operation(3, 1, 0)), "unknown operation direction"},
		{"an extent of 0", contained(0, operation(1, 0, 0)), "size of axis n"},
		{"one too large", contained(0, operation(1, maxExtent+1, 0)), "size of axis n"},
		{"a stride of 43 bits", contained(0, operation(1, 1, 1<<42)), "stride of axis n"},
		{"an operation of its fields alone", contained(0, set(operation(1, 1, 0)[:operationSize], 4, operationSize)), "name offset is past the end of the command"},
		{"an operation without its fields", contained(0, set(command(CommandThread, operationSize-1, nil), 8, uint32(flavorOperation))), "operation descriptor"},
	} {
		c, err := parseContainer(pieces{rest: tc.file})
		var f *FormatError
		switch {
		case tc.what == "" && (err != nil || len(c.Loads) != int(le.Uint32(tc.file[16:]))):
			t.Errorf("%s: %v", tc.name, err)
		case tc.what != "" && (!errors.As(err, &f) || !strings.Contains(err.Error(), tc.what)):
			t.Errorf("%s: %v, want %q", tc.name, err, tc.what)
		}
	}
	if got := cutAtZero([]byte("\x00a")); got != "" {
		t.Errorf("%q ahead of a zero", got)
	}
	if got := cutAtZero([]byte("ab")); got != "ab" {
		t.Errorf("%q without a zero", got)
	}
}

// Parts of a file: each may be anywhere in it, and they may touch and not overlap.
func TestOwners(t *testing.T) {
	file := make([]byte, 16)
	for i := range file {
		file[i] = byte(i)
	}
	type part struct{ off, n uint64 }
	for _, tc := range []struct {
		parts []part
		gaps  string // their bytes
		what  string
	}{
		{nil, "000102030405060708090a0b0c0d0e0f", ""},
		{[]part{{0, 16}}, "", ""},
		{[]part{{0, 8}, {8, 8}}, "", ""},
		{[]part{{8, 8}, {0, 8}}, "", ""},
		{[]part{{4, 4}, {12, 2}}, "00010203 08090a0b 0e0f", ""},
		{[]part{{16, 0}}, "000102030405060708090a0b0c0d0e0f", ""},
		{[]part{{0, 16}, {8, 0}}, "", ""},
		{[]part{{17, 0}}, "", "leaves no room for"},
		{[]part{{8, 9}}, "", "leaves no room for"},
		{[]part{{0, 8}, {7, 8}}, "", "overlaps"},
		{[]part{{0, 16}, {0, 1}}, "", "overlap between parts of the file"},
		{[]part{{3, 4}, {3, 4}}, "", "overlaps"},
	} {
		r := &reader{file: pieces{rest: file}}
		var err error
		for _, p := range tc.parts {
			if _, e := r.claimBytes(0, p.off, p.n, "part"); e != nil && err == nil {
				err = e
			}
		}
		var got []string
		if err == nil {
			var gaps []extent
			gaps, err = r.findGaps()
			for _, g := range gaps {
				got = append(got, fmt.Sprintf("%x", g.data))
			}
		}
		if tc.what == "" && (err != nil || !slices.Equal(got, strings.Fields(tc.gaps))) || tc.what != "" && (err == nil || !strings.Contains(err.Error(), tc.what)) {
			t.Errorf("%v: %q, %v; want %q, %q", tc.parts, got, err, tc.gaps, tc.what)
		}
	}
}

// The Linux driver's form at its limits.
func TestANECLimits(t *testing.T) {
	file := anecExample(t, "conv")
	set32 := func(at int, v uint32) func([]byte) { return func(b []byte) { le.PutUint32(b[at:], v) } }
	set64 := func(at int, v uint64) func([]byte) { return func(b []byte) { le.PutUint64(b[at:], v) } }
	size, task := le.Uint64(file), le.Uint64(file[16:])
	for _, tc := range []struct {
		name string
		edit func([]byte)
		ok   bool
	}{
		{"as it is", func([]byte) {}, true},
		{"no source", set32(32, 0), false},
		{"no result", set32(36, 0), false},
		{"as many tensors as there is room for", set32(32, 27), true},
		{"one more", set32(32, 28), false},
		{"a size that is the file's", set64(0, uint64(len(file))), true},
		{"one beyond", set64(0, uint64(len(file))+1), false},
		{"no size", set64(0, 0), false},
		{"a chain of the whole size", set64(16, size), true},
		{"a longer one", set64(16, size+1), false},
		{"a chain of a header", func(b []byte) { le.PutUint64(b[16:], 40); le.PutUint32(b[8:], 40); le.PutUint32(b[12:], 1) }, true},
		{"a shorter one", func(b []byte) { le.PutUint64(b[16:], 39); le.PutUint32(b[8:], 39) }, false},
		{"weights of the whole size", set64(24, size), true},
		{"more", set64(24, size+1), false},
		{"no first descriptor", set32(8, 0), false},
		{"one as long as the chain", set32(8, uint32(task)), true},
		{"a longer one", set32(8, uint32(task)+1), false},
		{"no descriptors", set32(12, 0), false},
		{"one for each byte", set32(12, uint32(task)), true},
		{"one more", set32(12, uint32(task)+1), false},
	} {
		b := bytes.Clone(file)
		tc.edit(b)
		if _, ok := readANECHeader(b, int64(len(b))); ok != tc.ok {
			t.Errorf("%s: taken for a header %v, want %v", tc.name, ok, tc.ok)
		}
	}
	if _, ok := readANECHeader(file[:anecHeader], int64(len(file))); !ok {
		t.Error("the header alone is not taken for one")
	}
	if _, ok := readANECHeader(file[:anecHeader-1], int64(len(file))); ok {
		t.Error("less than a header is taken for one")
	}

	const channel = anecFirstTensor // the result
	at := anecShapes + anecShape*channel
	for _, tc := range []struct {
		name string
		v    [6]uint64
		room uint64
		off  int // of the error, 0 for none
	}{
		{"one element", [6]uint64{1, 1, 1, 1, 64, 64}, 64, 0},
		{"the largest extent", [6]uint64{1, 1, 1, maxExtent, 0, 0}, 2 * maxExtent, 0},
		{"a larger one", [6]uint64{1, 1, 1, maxExtent + 1, 0, 0}, 1 << 20, at + 24},
		{"an extent of 0", [6]uint64{1, 0, 1, 1, 64, 64}, 64, at + 8},
		{"a stride of 43 bits", [6]uint64{1, 1, 1, 1, 64, 1 << 42}, 1 << 43, at + 40},
		{"planes to the last byte", [6]uint64{2, 3, 1, 1, 64, 64}, 5*64 + 2, 0},
		{"and a byte less", [6]uint64{2, 3, 1, 1, 64, 64}, 5*64 + 1, at},
		{"a plane as large as the buffer", [6]uint64{1, 1, 1, 1, 64, 64}, 64, 0},
		{"a larger one", [6]uint64{1, 1, 1, 1, 65, 64}, 64, at},
	} {
		b := bytes.Clone(file)
		for i, v := range tc.v {
			le.PutUint64(b[at+8*i:], v)
		}
		p := Port{Bytes: tc.room, Type: Float16()}
		err := p.readANECShape(b, channel)
		var f *FormatError
		if tc.off == 0 && (err != nil || p.Strides != [4]uint64{tc.v[4] * tc.v[1], tc.v[4], tc.v[5], 2}) || tc.off != 0 && (!errors.As(err, &f) || f.Off != uint64(tc.off)) {
			t.Errorf("%s: strides %v, %v; want an error at %#x", tc.name, p.Strides, err, tc.off)
		}
	}
}
