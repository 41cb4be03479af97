package loader

import (
	"bytes"
	"strconv"
	"strings"

	"anesim/hw/regs"
)

// isCaptureText reports whether the file is printable text whose first line that is not
// a comment begins with a hexadecimal number.
func isCaptureText(file []byte) bool {
	for _, c := range file {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	for line := range bytes.Lines(file) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return bytes.HasPrefix(line, []byte("0x")) || bytes.HasPrefix(line, []byte("0X"))
		}
	}
	return false
}

// readCaptureText reads a pair per line; a comma between the two is allowed.
func readCaptureText(name string, file []byte) (*Program, error) {
	v := new(regs.V10)
	at := uint64(0)
	for line := range bytes.Lines(file) {
		text, _, _ := strings.Cut(string(line), "#")
		fields := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n' })
		if len(fields) > 0 {
			if len(fields) != 2 {
				return nil, fail(at, strings.TrimSpace(text), "line is not an address and a value")
			}
			var pair [2]uint32
			for i, f := range fields {
				n, err := strconv.ParseUint(f, 0, 32)
				if err != nil {
					return nil, fail(at, f, "not a 32-bit number")
				}
				pair[i] = uint32(n)
			}
			if err := v.Store(pair[0], pair[1]); err != nil {
				return nil, wrap(at, err, "captured register")
			}
		}
		at += uint64(len(line))
	}
	return &Program{Name: name, Form: FormRegisters, Registers: v}, nil
}

// captureBinary reads a run of pairs that nothing else can be; nil is something else.
func captureBinary(file []byte) *regs.V10 {
	const pair = 8
	if len(file) < 2*pair || len(file)%pair != 0 {
		return nil
	}
	seen := make(map[uint32]bool)
	v := new(regs.V10)
	for b := file; len(b) > 0; b = b[pair:] {
		addr := le.Uint32(b)
		if seen[addr] || v.Store(addr, le.Uint32(b[4:])) != nil {
			return nil
		}
		seen[addr] = true
	}
	return v
}
