package input

import (
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware"
	"anesim/tools/anesim/internal/infile"
	"anesim/tools/anesim/internal/npy"
)

// maxRaw is the most bytes of a raw fp16 file: the size of the largest surface that a register
// can address.
const maxRaw = 512 << 20

// ReadTensor reads a tensor from a file and returns its fp16 values and its shape. The file is a
// .npy file, or a .f16 file of raw little-endian values, for which the shape is nil.
func ReadTensor(name string) ([]float16.Float16, []int, error) {
	a, err := ReadTensorAs(name, npy.Read)
	return a.Data, a.Shape, err
}

// ReadTensorAs is like [ReadTensor], but reads a .npy file with the function read.
func ReadTensorAs(name string, read func(io.ReaderAt, int64) (npy.Array, error)) (npy.Array, error) {
	r, err := infile.Open(name)
	if err != nil {
		return npy.Array{}, err
	}
	defer r.Close()
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".npy":
		a, err := read(r, r.Size())
		a.Shape = append([]int{}, a.Shape...)
		return a, err
	case ".f16":
		if r.Size()%2 != 0 {
			return npy.Array{}, fmt.Errorf("file has %d bytes; want an even number for fp16 values", r.Size())
		}
		if r.Size() > maxRaw {
			return npy.Array{}, fmt.Errorf("file has %d bytes; want at most %d", r.Size(), maxRaw)
		}
		data, err := readFloat16s(r, int(r.Size()/2))
		return npy.Array{Data: data}, err
	default:
		return npy.Array{}, fmt.Errorf("unknown extension %q; want .npy or .f16 (raw fp16 values)", ext)
	}
}

// readFloat16s reads n little-endian fp16 values in pieces of at most 64 KiB.
func readFloat16s(r io.ReaderAt, n int) ([]float16.Float16, error) {
	data := make([]float16.Float16, n)
	piece := make([]byte, min(2*n, 1<<16))
	for at := 0; at < n; {
		b := piece[:min(len(piece), 2*(n-at))]
		if _, err := r.ReadAt(b, 2*int64(at)); err != nil {
			return nil, err
		}
		for ; len(b) > 0; b = b[2:] {
			data[at] = float16.Float16(binary.LittleEndian.Uint16(b))
			at++
		}
	}
	return data, nil
}

// ReadInit sets o.Init to the register-init table in the named file.
func ReadInit(o *anesim.Options, name string) error {
	return Open(name, nil, func(_ string, r io.ReaderAt, size int64) (err error) {
		o.Init, err = firmware.ReadInit(r, size)
		return err
	})
}
