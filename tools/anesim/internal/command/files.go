package command

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware"
	"anesim/tools/anesim/internal/infile"
	"anesim/tools/anesim/internal/npy"
)

// readHalves reads a tensor's halves: .npy, or raw little-endian halves as .f16.
func readHalves(name string) ([]float16.Float16, error) {
	r, err := infile.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".npy":
		a, err := npy.Read(r, r.Size())
		return a.Data, err
	case ".f16":
		if r.Size()%2 != 0 {
			return nil, fmt.Errorf("%d bytes are no whole number of halves", r.Size())
		}
		b := make([]byte, r.Size())
		if _, err := r.ReadAt(b, 0); err != nil {
			return nil, err
		}
		data := make([]float16.Float16, len(b)/2)
		for i := range data {
			data[i] = float16.Float16(binary.LittleEndian.Uint16(b[2*i:]))
		}
		return data, nil
	default:
		return nil, fmt.Errorf("extension %q: want .npy (<f2) or .f16 (raw halves)", ext)
	}
}

// writeOutputs writes each output port to dir as <port>.npy.
func writeOutputs(dir string, res *anesim.Result) error {
	if len(res.Outputs) == 0 {
		return fmt.Errorf("--out %s: no outputs to write: %s", dir, whyNoOutputs(res))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, out := range res.Outputs {
		f, err := os.Create(filepath.Join(dir, fileName(out.Port.Name)+".npy"))
		if err != nil {
			return err
		}
		err = npy.Write(f, out.Port.Shape[:], out.Data)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fileName is a port's name without what a path would take apart.
func fileName(port string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == 0 {
			return '_'
		}
		return r
	}, port)
}

func readInit(name string) (*firmware.InitTable, error) {
	r, err := infile.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return firmware.ReadInit(r, r.Size())
}
