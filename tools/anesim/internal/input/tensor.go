package input

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
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
// .npy file, or a .f16 file of raw little-endian values, for which the shape is nil. The content of a
// pipe, which has no extension, shows which of the two it is.
func ReadTensor(name string) ([]float16.Float16, []int, error) {
	a, err := ReadTensorAs(name, npy.Read)
	return a.Data, a.Shape, err
}

// ReadTensorAs is like [ReadTensor], but reads a .npy file with the function read.
func ReadTensorAs(name string, read func(io.ReaderAt, int64) (npy.Array, error)) (npy.Array, error) {
	if data, err := readPipeOrDevice(name); err != nil {
		return npy.Array{}, err
	} else if data != nil {
		return readTensorContent(bytes.NewReader(data), int64(len(data)), npy.HasMagic(data), read)
	}
	r, err := infile.Open(name)
	if err != nil {
		return npy.Array{}, err
	}
	defer r.Close()
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".npy", ".f16":
		return readTensorContent(r, r.Size(), ext == ".npy", read)
	default:
		return npy.Array{}, fmt.Errorf("unknown extension %q; want .npy or .f16 (raw fp16 values)", ext)
	}
}

// readPipeOrDevice returns the content of the named file if it is a pipe, a device or standard input,
// which the shell may redirect from a file. It returns nil for any other file.
func readPipeOrDevice(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() || info.Mode().IsRegular() && name != "/dev/stdin" {
		return nil, nil // for the caller to open
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := ReadAll(f)
	return append([]byte{}, data...), err
}

// readTensorContent reads a tensor of size bytes from r, which has the format of a .npy file or only
// raw values.
func readTensorContent(r io.ReaderAt, size int64, isNPY bool, read func(io.ReaderAt, int64) (npy.Array, error)) (npy.Array, error) {
	if isNPY {
		a, err := read(r, size)
		a.Shape = append([]int{}, a.Shape...)
		return a, err
	}
	if size%2 != 0 {
		return npy.Array{}, fmt.Errorf("file has %d bytes; want an even number for fp16 values", size)
	}
	if size > maxRaw {
		return npy.Array{}, fmt.Errorf("file has %d bytes; want at most %d", size, maxRaw)
	}
	data, err := readFloat16s(r, int(size/2))
	return npy.Array{Data: data}, err
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
