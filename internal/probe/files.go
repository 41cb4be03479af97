package probe

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"anesim/internal/network/coreml"
	"anesim/internal/network/mil"
)

var (
	//go:embed probe.swift
	script []byte
	//go:embed README.txt
	readme []byte
)

// Names of the files of a probe.
const (
	ScriptName  = "probe.swift"
	PackageName = "probe.mlpackage"
	ResultsName = "results.json"
)

// A description lists inputs and outputs for the script.
type description struct {
	Probe   string      `json:"probe"`
	Inputs  []inputFile `json:"inputs"`
	Outputs []string    `json:"outputs"`
}

type inputFile struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	File  string `json:"file"` // fp16 values, little-endian
}

// Files returns the files of the probe by their slash-separated paths: the model as a Core ML package,
// its inputs, the script and a page that says how to run it. They are the same at every call.
func Files() map[string][]byte {
	m := theModel()
	model, weights := m.encodeModel()
	files := map[string][]byte{ScriptName: script, "README.txt": readme}
	for name, data := range coreml.Files(model, weights) {
		files[PackageName+"/"+name] = data
	}
	d := description{Probe: identity()}
	for _, in := range m.inputs {
		file := "inputs/" + in.name + ".f16"
		files[file] = encodeHalves(in.data)
		d.Inputs = append(d.Inputs, inputFile{in.name, in.shape, file})
	}
	for _, q := range m.questions {
		d.Outputs = append(d.Outputs, q.name)
	}
	text, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		panic(err) // it has strings and integers alone
	}
	files["probe.json"] = append(text, '\n')
	return files
}

// encodeModel returns the content of the model file and of the file that has its weights. Core ML expects
// large constants in the latter.
func (b *builder) encodeModel() ([]byte, coreml.Weights) {
	const large = 64 // bytes
	var weights coreml.Weights
	p := b.toProgram()
	operations := slices.Clone(p.Functions[0].Operations)
	for i := range operations {
		attributes := maps.Clone(operations[i].Attributes)
		for _, key := range sortedKeys(attributes) {
			if v := attributes[key]; len(v.Data) > large {
				attributes[key] = mil.Value{Type: v.Type, File: coreml.WeightsPath, Offset: weights.Add(v.Type.Elem, v.Data)}
			}
		}
		operations[i].Attributes = attributes
	}
	p.Functions[0].Operations = operations
	return coreml.Encode(p), weights
}

// identity returns a checksum of the model and its inputs. Results of another model are refused.
var identity = sync.OnceValue(func() string {
	b, h := theModel(), sha256.New()
	model, weights := b.encodeModel()
	h.Write(model)
	h.Write(weights)
	for _, in := range b.inputs {
		h.Write(encodeHalves(in.data))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
})

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
