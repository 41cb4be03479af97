package command

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware"
	"anesim/tools/anesim/internal/infile"
	"anesim/tools/anesim/internal/npy"
	"anesim/tools/anesim/internal/outfile"
	"anesim/tools/anesim/internal/text"
)

// stdinName is standard input in errors and reports.
const stdinName = "stdin"

// A missingError is a file that cannot be opened.
type missingError struct{ error }

func (e *missingError) Unwrap() error { return e.error }

// openModel opens the model in a file, standard input for "-". Errors name the file.
func openModel(file string, stdin io.Reader) (*anesim.Model, error) {
	return openModelWith(new(anesim.OpenOptions), file, stdin)
}

// openModelWith opens a model with options.
func openModelWith(o *anesim.OpenOptions, file string, stdin io.Reader) (*anesim.Model, error) {
	if info, err := os.Stat(file); file != "-" && err == nil && (info.IsDir() || info.Mode().IsRegular()) {
		m, err := o.Open(file)
		if err != nil {
			return nil, inFile(file, err)
		}
		return m, nil
	}
	var m *anesim.Model
	err := open(file, stdin, func(name string, r io.ReaderAt, size int64) (err error) {
		m, err = o.Read(name, r, size)
		return err
	})
	return m, err
}

// open gives a file to what reads it.
func open(file string, stdin io.Reader, read func(name string, r io.ReaderAt, size int64) error) error {
	if file == "-" {
		data, err := readAll(stdin)
		if err == nil {
			err = read(stdinName, bytes.NewReader(data), int64(len(data)))
		}
		if err != nil {
			return inFile(stdinName, err)
		}
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return &missingError{err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s: is a directory", file)
	}
	if !info.Mode().IsRegular() { // a pipe has no size
		data, err := readAll(f)
		if err == nil {
			err = read(filepath.Base(file), bytes.NewReader(data), int64(len(data)))
		}
		if err != nil {
			return inFile(file, err)
		}
		return nil
	}
	if err := read(filepath.Base(file), f, info.Size()); err != nil {
		return inFile(file, err)
	}
	return nil
}

// maxPiped bounds what is read from a pipe or a device, which has no size that could be
// checked first. A file may be larger.
const maxPiped = 256 << 20

// readAll reads standard input or another pipe.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPiped+1))
	if err == nil && len(data) > maxPiped {
		return nil, fmt.Errorf("more than %d bytes in a pipe; give a file", maxPiped)
	}
	return data, err
}

// readFile returns the bytes of a file or a pipe, standard input for "-". One of more than most
// bytes is refused before it is read. Errors name the file.
func readFile(file string, stdin io.Reader, most int64) (data []byte, err error) {
	err = open(file, stdin, func(_ string, r io.ReaderAt, size int64) error {
		data, err = readWhole(r, size, most)
		return err
	})
	return data, err
}

// readWhole returns the size bytes of r, at most most.
func readWhole(r io.ReaderAt, size, most int64) ([]byte, error) {
	if size > most {
		return nil, fmt.Errorf("found %d bytes, want at most %d", size, most)
	}
	data := make([]byte, size)
	n, err := r.ReadAt(data, 0)
	if int64(n) < size {
		return nil, fmt.Errorf("found %d of %d bytes: %w", n, size, err)
	}
	return data, nil
}

// maxRaw bounds the bytes of raw fp16 values: the largest surface a register can stride.
const maxRaw = 512 << 20

// readTensor reads a tensor's fp16 values: .npy, with its shape, or raw little-endian ones
// as .f16, whose shape is not known.
func readTensor(name string) ([]float16.Float16, []int, error) {
	a, err := readTensorAs(name, npy.Read)
	return a.Data, a.Shape, err
}

func readTensorAs(name string, read func(io.ReaderAt, int64) (npy.Array, error)) (npy.Array, error) {
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
			return npy.Array{}, fmt.Errorf("%d bytes are not a whole number of fp16 values", r.Size())
		}
		if r.Size() > maxRaw {
			return npy.Array{}, fmt.Errorf("%d bytes; a tensor has at most %d", r.Size(), maxRaw)
		}
		data, err := readHalves(r, int(r.Size()/2))
		return npy.Array{Data: data}, err
	default:
		return npy.Array{}, fmt.Errorf("extension %q: want .npy (<f2) or .f16 (raw fp16 values)", ext)
	}
}

// readHalves reads n fp16 values, little-endian, a piece at a time.
func readHalves(r io.ReaderAt, n int) ([]float16.Float16, error) {
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

// writeOutputs writes each output port to dir as <port>.npy, but none over the other files
// of the command line.
func writeOutputs(dir string, res *anesim.Result, others []string) error {
	if len(res.Outputs) == 0 {
		return fmt.Errorf("--out %s: no outputs to write: %s", dir, text.WhyNoOutputs(res))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var ports []string
	for _, out := range res.Outputs {
		ports = append(ports, out.Port.Name)
	}
	names := fileNames(ports)
	for i := range names {
		names[i] = filepath.Join(dir, names[i]+".npy")
		for _, other := range others {
			if sameFile(names[i], other) {
				return usage("--out: output %q would be written to %s, which the command line names for something else", ports[i], names[i])
			}
		}
	}
	for i, out := range res.Outputs {
		f, err := outfile.Create(names[i])
		if err != nil {
			return err
		}
		defer f.Abort()
		if out.Numbers != nil {
			err = npy.WriteNumbers(f, out.Type, out.Shape(), out.Numbers)
		} else {
			err = npy.WriteAs(f, out.Type, out.Shape(), out.Data)
		}
		if err != nil {
			return err
		}
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// fileNames are ports' names without what a path would take apart or a file system refuse.
// Ports whose names would become the same, letter case aside, have what was replaced
// written out in hexadecimal, and a port that its plain name belongs to keeps it.
func fileNames(ports []string) []string {
	names := make([]string, len(ports))
	count := make(map[string]int)
	for i, p := range ports {
		names[i] = shortened(replaced(p, func(rune) string { return "_" }), p)
		count[strings.ToLower(names[i])]++
	}
	for i, p := range ports {
		if count[strings.ToLower(names[i])] > 1 && names[i] != p {
			names[i] = shortened(replaced(p, func(r rune) string { return fmt.Sprintf("%%%02X", r) }), p)
		}
	}
	// What is still the same, such as two names that differ in case alone, is numbered.
	taken := make(map[string]bool)
	for i := range names {
		name := names[i]
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s~%d", names[i], n)
		}
		names[i] = name
		taken[strings.ToLower(name)] = true
	}
	return names
}

// maxName is the longest file name in bytes, without its suffix: file systems take 255, and
// the temporary file beside it has a few more.
const maxName = 200

// shortened is a name of at most maxName bytes: a longer one, as exporters make of a layer's
// path, ends in a number of the port's whole name.
func shortened(name, port string) string {
	if len(name) <= maxName {
		return name
	}
	cut := maxName - len("~00000000")
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return fmt.Sprintf("%s~%08x", name[:cut], crc32.ChecksumIEEE([]byte(port)))
}

func replaced(s string, by func(r rune) string) string {
	if s == "" || strings.Trim(s, ".") == "" {
		return "_" + s
	}
	var b strings.Builder
	for _, r := range s {
		if r == '/' || r == '\\' || r == ':' || r < ' ' || r == 0x7f {
			b.WriteString(by(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// readInit reads a register-init table.
func readInit(o *anesim.Options, name string) error {
	return open(name, nil, func(_ string, r io.ReaderAt, size int64) (err error) {
		o.Init, err = firmware.ReadInit(r, size)
		return err
	})
}
