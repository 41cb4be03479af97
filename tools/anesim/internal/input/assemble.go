package input

import (
	"encoding/binary"
	"path/filepath"

	"anesim/loader/asm"
)

// Assemble assembles a program of descriptors. The argument text is the program, which was read
// from the named file, and bind holds the values of the program's parameters. The result read lists
// the files that belong to the program: the named file, followed by its files of weights.
func Assemble(name string, text []byte, bind map[string]uint64) (u *asm.Unit, read []string, err error) {
	read = []string{name}
	u, err = asm.Assemble(name, text, &asm.Options{
		Bind: bind,
		Weights: func(weights string) ([]byte, error) {
			// File names are relative to the directory of the text.
			if !filepath.IsAbs(weights) {
				weights = filepath.Join(filepath.Dir(name), weights)
			}
			read = append(read, weights)
			return readFP16Bytes(weights)
		},
	})
	return u, read, err
}

// readFP16Bytes returns the fp16 values of a file as little-endian bytes.
func readFP16Bytes(name string) ([]byte, error) {
	values, _, err := ReadTensor(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, 2*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, v.Bits())
	}
	return b, nil
}
