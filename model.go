package anesim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"anesim/hw/execycles"
	"anesim/internal/cache"
	"anesim/internal/network/onnx"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower"
	"anesim/loader/network"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
	"anesim/loader/network/weights"
)

// A Kind says whether a model is a compiled program, a single layer or a network.
type Kind uint8

// Kinds of models.
const (
	KindProgram Kind = iota // a compiled program
	KindLayer               // one layer, lowered when it runs
	KindNetwork             // a network, lowered when it runs
)

// String returns "program", "layer" or "network", or "Kind(n)" for any other value n.
func (k Kind) String() string {
	switch k {
	case KindProgram:
		return "program"
	case KindLayer:
		return "layer"
	case KindNetwork:
		return "network"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// A Model is a compiled program, a single layer or a network that an engine can run. Several
// goroutines may run the same model at once.
type Model struct {
	name    string
	kind    Kind
	program *loader.Program   // set for KindProgram
	net     *list.Network     // set for the other kinds; a layer is a network of one
	keys    map[string]string // set for KindLayer

	mu      sync.Mutex
	lowered *loweredModel // the most recent lowering, reused by the next run
}

// OpenOptions configures how a model is opened. Its fields supply information that the file lacks,
// or choose how a network is converted to layers. The zero value means the defaults.
type OpenOptions struct {
	// Dims gives the sizes of a network's dimensions by name; see [network.Options].
	Dims map[string]int
	// Function names the function of a Core ML program that has several; see [network.Options].
	Function string
	// InMemory keeps every tensor between layers of a network in memory, where a compiler would
	// keep tensors that fit in L2.
	InMemory bool
	// Release is the release of Apple's compiler whose descriptors a network gets: one of
	// [layer.ReleasesOfNetworks], by name. "" means the release that a list of layers asks for, and the
	// newest for other networks.
	Release string
	// Tables uses a single lookup table for some activation functions, such as Elu, instead of
	// several layers that compute them exactly; see [network.Options].
	Tables bool
	// Program provides information that a bare descriptor text lacks.
	Program loader.Options
}

// Open opens the model in the named file, or in the directory of a Core ML package. See [Read] for
// the formats.
func Open(path string) (*Model, error) { return new(OpenOptions).Open(path) }

// Read reads a model of size bytes and detects its format from the content: a network or a compiled
// program (see [loader.Read]). If the content does not show the format, and name has the extension
// of a network format, the model is a network of that format: a list of layers (.yaml, .yml), an
// ONNX graph (.onnx), or a Core ML model or its program (.mlmodel, .mil); see package [network].
//
// If the model is not valid or not supported, the error is a *[list.FormatError], a
// *[list.DimError], a *[loader.FormatError] or a *[loader.UnsupportedError]. Read also returns an
// error if size is 0, and any error from r.
func Read(name string, r io.ReaderAt, size int64) (*Model, error) {
	return new(OpenOptions).Read(name, r, size)
}

// Open opens a file like the function [Open], but uses the options o.
func (o *OpenOptions) Open(path string) (*Model, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() && hasNetworkExtension(path) {
		return o.openNetwork(path, func(n network.Options) (*list.Network, error) { return network.Open(path, n) })
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if !o.Program.InFile {
		defer f.Close()
	}
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("is a directory; want a file or a Core ML package")
	}
	if extension, err := findNetworkExtension(path, f, info.Size()); err != nil {
		return nil, err
	} else if extension != "" && extension == cleanExtension(path) { // its values may be in other files
		return o.openNetwork(path, func(n network.Options) (*list.Network, error) { return network.Open(path, n) })
	}
	m, err := o.read(filepath.Base(path), filepath.Dir(path), f, info.Size())
	if err == nil && m.kind == KindNetwork {
		m.net.Files = append(m.net.Files, path)
	}
	return m, err
}

// Read reads a file like the function [Read], but uses the options o. It can read only one file, so a network
// with values in other files must be opened with [OpenOptions.Open].
func (o *OpenOptions) Read(name string, r io.ReaderAt, size int64) (*Model, error) {
	return o.read(name, "", r, size)
}

// read reads a file of the directory dir, in which a network's other files are. If dir is "", values in
// other files are not read.
func (o *OpenOptions) read(name, dir string, r io.ReaderAt, size int64) (*Model, error) {
	if size == 0 {
		return nil, errors.New("file is empty; want a compiled program or a network")
	}
	extension, err := findNetworkExtension(name, r, size)
	if err != nil {
		return nil, err
	}
	if extension == "" {
		if len(o.Dims) > 0 {
			return nil, &OptionError{Option: "Dims", What: "compiled program has fixed dimensions; want a network"}
		}
		if o.Release != "" {
			return nil, &OptionError{Option: "Release", What: "compiled program has its descriptors; want a network"}
		}
		if o.Function != "" {
			return nil, &OptionError{Option: "Function", What: "compiled program has no functions; want a program of Core ML"}
		}
		p, err := o.Program.Read(name, r, size)
		if errors.As(err, new(*loader.UnknownFormError)) {
			return nil, fmt.Errorf("neither a network (%s) nor a compiled program: %w", strings.Join(network.Extensions(), ", "), err)
		}
		if err != nil {
			return nil, err
		}
		return FromProgram(p), nil
	}
	if size < 0 || size > onnx.MaxBytes {
		return nil, &list.FormatError{Off: 0, What: fmt.Sprintf("file has %d bytes; want at most %d", size, int64(onnx.MaxBytes))}
	}
	// ReadAll grows with the data that arrives, so a wrong size costs nothing.
	data, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, err
	}
	return o.openNetwork(name, func(n network.Options) (*list.Network, error) {
		n.Dir = dir
		if cleanExtension(name) != extension {
			return network.Read(name+extension, data, n)
		}
		return network.Read(name, data, n)
	})
}

// openNetwork calls read to read a network and returns its model. A network without a name gets the
// base of the file name without the extension.
func (o *OpenOptions) openNetwork(name string, read func(network.Options) (*list.Network, error)) (*Model, error) {
	release := layer.Newest
	if o.Release != "" {
		all := layer.ReleasesOfNetworks()
		i := slices.IndexFunc(all, func(r layer.Release) bool { return r.String() == o.Release })
		if i < 0 {
			return nil, &OptionError{Option: "Release", What: fmt.Sprintf("unknown release %q; want newest or 2026", o.Release)}
		}
		release = all[i]
	}
	n, err := read(network.Options{Dims: o.Dims, Function: o.Function, Tables: o.Tables, Release: release})
	if err != nil {
		return nil, err
	}
	if n.Name == "" {
		base := filepath.Base(name)
		n.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	n.InMemory = n.InMemory || o.InMemory
	if o.Release != "" {
		n.SetRelease(release)
	}
	return FromNetwork(n), nil
}

// findNetworkExtension returns the extension of the format in which a network is stored, such as
// ".onnx", or "" for a compiled program. A content that shows its format decides, since files get
// renamed. Otherwise, the extension of the file name does.
func findNetworkExtension(name string, r io.ReaderAt, size int64) (string, error) {
	head := make([]byte, min(4096, max(0, size)))
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte{0xce, 0xfa, 0xef, 0xbe}): // a container under any name
		return "", nil
	case bytes.HasPrefix(head, []byte("program(")):
		return ".mil", nil
	}
	if extension := detectMessageExtension(r, size); extension != "" {
		return extension, nil
	}
	if named := cleanExtension(name); hasNetworkExtension(name) && (named == ".yml" || !isLayerList(head)) {
		return named, nil
	}
	if isLayerList(head) {
		return ".yaml", nil
	}
	return "", nil
}

// cleanExtension returns the extension of a file name in lower case.
func cleanExtension(name string) string {
	return strings.ToLower(filepath.Ext(filepath.Clean(name)))
}

// detectMessageExtension returns ".onnx" if a file is the protocol-buffer message of an ONNX model,
// ".mlmodel" for that of a Core ML model, and "" otherwise. Both messages begin with a version. An
// ONNX message has its graph in field 7; a Core ML message has its model in a field from 200 on.
// The last field must end at the end of the file.
func detectMessageExtension(r io.ReaderAt, size int64) (extension string) {
	const (
		mostFields = 1 << 10
		onnxGraph  = 7
		coremlKind = 200
	)
	var tag [2 * binary.MaxVarintLen64]byte
	for at, fields := int64(0), 0; at < size; fields++ {
		n, _ := r.ReadAt(tag[:min(int64(len(tag)), size-at)], at)
		field, width := binary.Uvarint(tag[:n])
		if width <= 0 || fields == mostFields || at == 0 && field != 1<<3 {
			return ""
		}
		value, length := binary.Uvarint(tag[width:n])
		if length <= 0 {
			return ""
		}
		at += int64(width + length)
		switch field & 7 {
		case 0: // a number
		case 2: // a length, followed by that many bytes
			if value > uint64(size-at) {
				return ""
			}
			at += int64(value)
			switch number := field >> 3; {
			case number == onnxGraph:
				extension = ".onnx"
			case number >= coremlKind:
				extension = ".mlmodel"
			}
		default:
			return ""
		}
	}
	return extension
}

// hasNetworkExtension reports whether the file name has the extension of a network format, such as
// ".onnx".
func hasNetworkExtension(name string) bool {
	return slices.Contains(network.Extensions(), cleanExtension(name))
}

// isLayerList reports whether head, the first bytes of a file, is UTF-8 text with a line that
// starts with "layers:" or "inputs:". The last character of head may be incomplete.
func isLayerList(head []byte) bool {
	cut := head
	for i := 0; i < utf8.UTFMax && len(cut) > 0 && !utf8.Valid(cut); i++ {
		cut = cut[:len(cut)-1]
	}
	if !utf8.Valid(cut) || bytes.IndexByte(cut, 0) >= 0 {
		return false
	}
	for line := range bytes.Lines(cut) {
		if bytes.HasPrefix(line, []byte("layers:")) || bytes.HasPrefix(line, []byte("inputs:")) {
			return true
		}
	}
	return false
}

// FromProgram returns a model that runs the compiled program p. The model has the program's name.
func FromProgram(p *loader.Program) *Model {
	return &Model{name: p.Name, kind: KindProgram, program: p}
}

// FromNetwork returns a model that runs the network n. The caller must not change n afterwards.
func FromNetwork(n *list.Network) *Model {
	return &Model{name: n.Name, kind: KindNetwork, net: n}
}

// Identity returns a built-in program in the format of Apple's compiler. It is a linear layer
// from 64 to 64 channels whose weights are the identity matrix.
func Identity() *Model {
	p, err := lower.IdentityProgram()
	if err != nil { // the program does not depend on any input
		panic(err)
	}
	return FromProgram(p)
}

// Layer returns a model of one layer, given as an operation and its keys in the form "key=value":
//
//	anesim.Layer("conv", "cin=256", "h=28", "w=28", "cout=256", "k=3", "pad=1")
//
// [keys.Operations] lists the operations with their keys. The inputs of the layer are named x and
// z, or x0, x1, ... for a concat. The output is named y. The constants of the layer are inputs,
// too: "weights" with the shape [cout][cin/groups][kh][kw] ([k][n] for a matmul, [n][k] for a
// linear layer), "bias", and "second", a constant operand. Those that a run does not set are
// pseudo-random.
//
// If the keys are wrong, the error is a *[LayerError]. If the layer exceeds a limit of the engine,
// the error says which.
func Layer(op string, keys ...string) (*Model, error) {
	o, err := findOperation(op)
	if err != nil {
		return nil, err
	}
	values, err := o.ParseKeys(keys)
	if err != nil {
		return nil, wrapLayerError(op, err)
	}
	l, err := o.Single(values)
	if err != nil {
		return nil, newRefusalError(op, values, layer.Memories{}, err)
	}
	l.Name = strings.Join(append([]string{op}, keys...), " ")
	l.Output = "y"
	n := &list.Network{Name: l.Name, Layers: []list.Layer{*l}, Outputs: []string{"y"}}
	return &Model{name: l.Name, kind: KindLayer, net: n, keys: values}, nil
}

// Name returns the name of the model. A program has the name of its file, a network the name in its
// file, and a layer its operation and keys, such as "conv cin=16 cout=16".
func (m *Model) Name() string { return m.name }

// Kind reports whether the model is a compiled program, a single layer or a network.
func (m *Model) Kind() Kind { return m.kind }

// Network returns the layers of a network, or of a single layer as a network of one. It returns nil
// for a compiled program. The caller must not change the result.
func (m *Model) Network() *list.Network { return m.net }

// Files returns the paths of all files that a network was read from: its own, and those with its
// weights. It returns nil for another model, and for a network that was not opened as a file.
func (m *Model) Files() []string {
	if m.net == nil {
		return nil
	}
	return m.net.Files
}

// OutputNames returns the names of all outputs that a run of the model can have, in order. A run has
// fewer if it does not compute all values.
func (m *Model) OutputNames() []string {
	var names []string
	if m.kind == KindProgram {
		for port := range m.program.Outputs() {
			names = append(names, port.Name)
		}
		return names
	}
	for _, out := range m.net.AllResults() {
		names = append(names, out.Name)
	}
	return names
}

// A MissingWeightsError reports that values were asked of a network whose file keeps weights in
// other files, some of which do not exist or were not read.
type MissingWeightsError struct {
	Files []string // names in the network's file
}

func (e *MissingWeightsError) Error() string {
	var names []string
	for _, name := range e.Files {
		names = append(names, strconv.Quote(name))
	}
	return fmt.Sprintf("weights are missing: %s not found or not read; only time, bytes and energy can be computed without them", strings.Join(names, ", "))
}

// CheckWeights returns a *[MissingWeightsError] if the model is a network that lacks weights which
// its file refers to.
func (m *Model) CheckWeights() error {
	if m.net == nil || len(m.net.Absent) == 0 {
		return nil
	}
	return &MissingWeightsError{m.net.Absent}
}

// Programs returns the programs that [Model.Run] would dispatch with the options o, in order. A
// compiled program or a single layer has one program. A network has several if some of its layers
// cannot share one. Weights that the model lacks are generated from o.Seed, unless its file refers to
// them; then, the error is a *[MissingWeightsError].
func (m *Model) Programs(ctx context.Context, o Options) ([]*loader.Program, error) {
	low, err := m.lowerOrReuse(ctx, &o, false)
	if err != nil {
		return nil, err
	}
	var list []*loader.Program
	for i := range low.programs {
		list = append(list, low.programs[i].Program)
	}
	return list, nil
}

// A loweredModel holds the programs of a model, and the options for which they were lowered.
type loweredModel struct {
	seed     uint64
	memories layer.Memories // memory sizes that the programs were lowered for
	target   execycles.Target
	sizes    bool // the programs can only be timed
	given    bool // the options gave some weights
	programs []partition.Program
	reasons  []string     // why a layer is in no program, "" if it is in one
	entry    *cache.Entry // cache entry of the programs, nil without a cache
}

// Memories returns the memory sizes of o.Chip for which layers are lowered, in bytes rounded down
// to multiples of 64. They are the sizes of L2 and of the weight memory of a MAC engine. A size
// is 0 if it equals the default of package layer, or if an L2 is larger than the default.
func (o *Options) Memories() (m layer.Memories) {
	if n := o.Chip.L2Bytes.Value; 0 < n && n < layer.MaxL2 {
		m.L2 = int(n) &^ 63
	}
	if n := int(o.Chip.KernelMemory.Value) &^ 63; n > 0 && n != layer.MaxLane {
		m.Lane = n
	}
	return m
}

// target returns the target for which the options o lower the model. It is o.Target for a compiled
// program: 0 means that the program says it. Many of the estimates of a lowered program are 0 and do
// not tell.
func (m *Model) target(o *Options) execycles.Target {
	if m.kind == KindProgram {
		return o.Target
	}
	return o.Target.Or(m.loweredTarget())
}

// loweredTarget returns the target of the programs that lowering the model reproduces: H13, or H13G for
// the compiler of 2026.
func (m *Model) loweredTarget() execycles.Target {
	if m.net != nil && m.net.Release() == layer.Release2026 {
		return execycles.H13G
	}
	return execycles.H13
}

// lowerOrReuse returns the programs of the model for the options o. If the programs of the previous
// call fit o, it returns them again. If sizes is true, the programs are only timed and need no
// weights. Otherwise, the error is a *[MissingWeightsError] if the network lacks some.
func (m *Model) lowerOrReuse(ctx context.Context, o *Options, sizes bool) (*loweredModel, error) {
	if m.kind == KindProgram {
		return wrapCompiledProgram(m.program), nil
	}
	if !sizes {
		if err := m.CheckWeights(); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.lowered; l != nil && l.seed == o.Seed && l.memories == o.Memories() && l.target == m.target(o) && (!l.sizes || sizes) && !l.given && !o.hasWeights() {
		return l, nil
	}
	low := &loweredModel{seed: o.Seed, memories: o.Memories(), target: m.target(o), sizes: sizes, given: o.hasWeights()}
	make := func() error { return m.lowerModel(ctx, low, o) }
	var err error
	if o.Cache != nil && !low.given {
		err = m.lowerWithCache(low, o, make)
	} else {
		err = make()
	}
	if err != nil {
		return nil, err
	}
	m.lowered = low
	return low, nil
}

// lowerModel lowers a layer or a network without the cache, and stores the programs in low.
func (m *Model) lowerModel(ctx context.Context, low *loweredModel, o *Options) (err error) {
	if m.kind == KindLayer {
		return m.lowerLayer(low, o)
	}
	meter := o.newMeter(StageLower, len(m.net.Layers))
	how := partition.Lowering{Seed: o.Seed, SizesOnly: low.sizes, Memories: low.memories, Target: low.target, Done: meter.addSteps}
	low.programs, low.reasons, err = partition.Lower(ctx, m.net, how)
	return err
}

// lowerLayer lowers a single layer, with the constants in o.Inputs, and stores its program in low.
func (m *Model) lowerLayer(low *loweredModel, o *Options) error {
	l := m.net.Layers[0]
	if err := setWeights(&l, o); err != nil {
		return err
	}
	complete, make := weights.Streamed, lower.Lower
	if low.sizes {
		complete, make = weights.Sizes, lower.Sized
	}
	w, err := complete(&l, o.Seed)
	if err != nil {
		return newRefusalError(l.Op, m.keys, low.memories, err)
	}
	l.Lower.Memories, l.Lower.Target = low.memories, low.target
	p, err := make(l.Lower, w)
	if err != nil {
		return newRefusalError(l.Op, m.keys, low.memories, err)
	}
	p.Name = m.name
	low.programs = []partition.Program{{Program: p, Runs: []partition.Run{{First: 0, Tasks: p.TaskCount}}}}
	low.reasons = []string{""}
	return nil
}
