package loader

import (
	"bytes"
	"strconv"
	"strings"

	"anesim/hw/regs"
)

// isCaptureText reports whether the file is a text of captured registers: it is printable
// and its first line, after comments, starts with a hexadecimal number or the name of a
// register.
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

// readCaptureText reads captured registers from a text with one address and value per line.
// The two may be separated by a comma. A # starts a comment.
func readCaptureText(name string, file []byte) (*Program, error) {
	v := new(regs.V10)
	at := uint64(0)
	for line := range bytes.Lines(file) {
		text, _, _ := strings.Cut(string(line), "#")
		fields := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n' })
		if len(fields) > 0 {
			if len(fields) != 2 {
				return nil, newFormatError(at, strings.TrimSpace(text), "malformed line; want a register and a value")
			}
			addr, err := parseCaptureAddress(at, fields[0])
			if err != nil {
				return nil, err
			}
			value, err := parseCaptureNumber(at, fields[1])
			if err != nil {
				return nil, err
			}
			if err := v.Store(addr, value); err != nil {
				return nil, wrapFormatError(at, err, "cannot store captured register")
			}
		}
		at += uint64(len(line))
	}
	return &Program{Name: name, Form: FormRegisters, Registers: v}, nil
}

// parseCaptureAddress parses a register address or name. at is the byte offset of its line, for
// errors.
func parseCaptureAddress(at uint64, text string) (uint32, error) {
	if e := regs.Absent(text); e != nil {
		return 0, &UnsupportedError{"captured registers", e.Error()}
	}
	if strings.Contains(text, ".") {
		addr, ok := regs.V10Address(text)
		if !ok {
			return 0, newFormatError(at, text, "unknown version 10 register")
		}
		return addr, nil
	}
	return parseCaptureNumber(at, text)
}

func parseCaptureNumber(at uint64, text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		return 0, newFormatError(at, text, "malformed number; want at most 32 bits")
	}
	return uint32(n), nil
}

// readCaptureBinary reads a file of binary (address, value) pairs. It returns nil unless every
// address is different and inside a version 10 register window. A chain of descriptors is not
// mistaken for such pairs, because the third word of a descriptor, its log events, is outside the
// windows in every known program (0x400 to 0x42a).
func readCaptureBinary(file []byte) *regs.V10 {
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
