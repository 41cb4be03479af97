package loader

import (
	"bytes"
	"strconv"
	"strings"

	"anesim/hw/regs"
)

// isCaptureText reports whether the file is printable text whose first line that is not
// a comment begins with a hexadecimal number, or with the name of a register that the
// version 10 image has or that the M1 lacks.
func isCaptureText(file []byte) bool {
	for _, c := range file {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	for line := range bytes.Lines(file) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			first, _, _ := strings.Cut(string(line[:min(len(line), maxName)]), " ")
			first = strings.TrimRight(first, ",\t")
			if strings.HasPrefix(first, "0x") || strings.HasPrefix(first, "0X") || regs.Absent(first) != nil {
				return true
			}
			_, ok := regs.V10Address(first)
			return ok
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
			addr, err := captureAddress(at, fields[0])
			if err != nil {
				return nil, err
			}
			value, err := captureNumber(at, fields[1])
			if err != nil {
				return nil, err
			}
			if err := v.Store(addr, value); err != nil {
				return nil, wrap(at, err, "captured register")
			}
		}
		at += uint64(len(line))
	}
	return &Program{Name: name, Form: FormRegisters, Registers: v}, nil
}

// captureAddress reads a register's address, or its name as the written text has it.
func captureAddress(at uint64, text string) (uint32, error) {
	if e := regs.Absent(text); e != nil {
		return 0, &UnsupportedError{"captured registers", e.Error()}
	}
	if strings.Contains(text, ".") {
		addr, ok := regs.V10Address(text)
		if !ok {
			return 0, fail(at, text, "no register of the version 10 image is called")
		}
		return addr, nil
	}
	return captureNumber(at, text)
}

func captureNumber(at uint64, text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		return 0, fail(at, text, "not a 32-bit number")
	}
	return uint32(n), nil
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
