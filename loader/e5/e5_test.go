package e5

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/google/go-cmp/cmp"

	"anesim/internal/enums"
	"anesim/loader"
	"anesim/loader/internal/cost"
	"anesim/loader/internal/rules"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

// seven are as many pairs as the documents' sample has.
func seven() []Entry {
	return []Entry{
		{"built-for-profiling", "false"}, {"input-file-path", "model.mil"}, {"component-compiler", "1"},
		{"component-runtime", "1"}, {"component-engine", "1"}, {"on-device-compilation", "true"}, {"platform", "h13g"},
	}
}

func part(t testing.TB, l layer.Layer) Part {
	t.Helper()
	p, err := lower.Lower(l, layer.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	return Part{p, p.Bytes()}
}

func product(k int) layer.Layer {
	return layer.Layer{Op: layer.Linear, In: layer.Shape{N: 1, C: 1, H: 1, W: k}, Columns: k}
}

func dispatch(t testing.TB, parts ...Part) []byte {
	t.Helper()
	p, err := New(seven(), parts...)
	if err != nil {
		t.Fatal(err)
	}
	return p.Bytes()
}

// TestDispatch writes a descriptor as the documents describe one and reads it.
func TestDispatch(t *testing.T) {
	whole := part(t, product(64))
	file := dispatch(t, whole)
	at := binary.LittleEndian.Uint32(file)
	table := int64(at) - int64(int32(binary.LittleEndian.Uint32(file[at:])))
	if tag := file[table:][:12]; !bytes.Equal(tag, []byte{0x0c, 0, 0x14, 0, 4, 0, 8, 0, 12, 0, 16, 0}) {
		t.Errorf("root's virtual table % x", tag)
	}
	p, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Build) != 7 || len(p.Sections) != 6 || p.Version != 4 {
		t.Errorf("%d pairs, %d sections, version %d", len(p.Build), len(p.Sections), p.Version)
	}
	var kinds []enums.OpType
	for _, o := range p.Chain() {
		kinds = append(kinds, o.Type)
	}
	if diff := cmp.Diff([]enums.OpType{enums.OpTypeCast, enums.OpTypeAneInference, enums.OpTypeCast}, kinds); diff != "" {
		t.Error(diff)
	}
	once := sha256.Sum256(whole.Container)
	if got, want := p.Sections[3].Inference.Hash, fmt.Sprintf("%X", sha256.Sum256(once[:])); got != want {
		t.Errorf("container %s, want %s", got, want)
	}
	if x := p.Sections[0].Operands[0]; x.Width != 64 || x.StrideWidth != 2 || x.Type != enums.TensorFloat16 {
		t.Errorf("operand %+v", x)
	}
	if !bytes.Equal(p.Bytes(), file) {
		t.Error("the written descriptor differs from the read one")
	}
	var u *loader.UnsupportedError
	if _, err := loader.Read("x.e5", bytes.NewReader(file), int64(len(file))); !errors.As(err, &u) || !strings.Contains(err.Error(), "dispatch descriptor") {
		t.Errorf("as a program: %v", err)
	}
}

// TestCastOfEachOperand writes a model of an input and five states, which has six inputs and six outputs:
// a cast of each, between which is one inference. A cast leads from dense rows to the engine's strides.
func TestCastOfEachOperand(t *testing.T) {
	one := part(t, layer.Layer{Op: layer.ReLU, In: layer.Shape{N: 1, C: 4, H: 3, W: 5}})
	p, err := New(seven(), withPorts(one, 6, 6))
	if err != nil {
		t.Fatal(err)
	}
	if p, err = Read(p.Bytes()); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range p.Chain() {
		names = append(names, o.Name)
	}
	want := []string{
		"Op0_Cast", "Op1_Cast", "Op2_Cast", "Op3_Cast", "Op4_Cast", "Op5_Cast", "Op6_AneInference",
		"Op7_Cast", "Op8_Cast", "Op9_Cast", "Op10_Cast", "Op11_Cast", "Op12_Cast",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	casts := 0
	for i := range p.Sections {
		s := &p.Sections[i]
		if s.Operation == nil || s.Operation.Type != enums.OpTypeCast {
			continue
		}
		host, engine := s.Operands[0], s.Operands[1]
		if casts >= 6 {
			host, engine = engine, host
		}
		if casts++; !slices.Equal(host.Stride, []uint64{120, 30, 10, 2}) || host.StrideChannels != 30 || host.StrideHeight != 10 {
			t.Errorf("%s: the host's strides are %v", s.Name, host.Stride)
		}
		q := one.Program.Ports[0]
		if !slices.Equal(engine.Stride, q.Strides[:]) || slices.Equal(engine.Stride, host.Stride) {
			t.Errorf("%s: the engine's strides are %v, the port's %v", s.Name, engine.Stride, q.Strides)
		}
	}
	if casts != 12 {
		t.Errorf("%d casts", casts)
	}
}

// withPorts returns a part whose program has the given number of inputs and outputs, with the layout of
// its first port.
func withPorts(p Part, inputs, outputs int) Part {
	program := *p.Program
	q := program.Ports[0]
	program.Ports = nil
	for i := range inputs + outputs {
		q.Name, q.Direction = fmt.Sprint("p", i), loader.Input
		if i >= inputs {
			q.Direction = loader.Output
		}
		program.Ports = append(program.Ports, q)
	}
	return Part{&program, p.Container}
}

// TestSize: neither the shape nor the depth changes the size, the number of pieces does.
func TestSize(t *testing.T) {
	small, large := dispatch(t, part(t, product(64))), dispatch(t, part(t, product(256)))
	if len(small) != len(large) {
		t.Errorf("K = 64 takes %d bytes, K = 256 %d", len(small), len(large))
	}
	deep := part(t, product(64))
	deep.Container = append(deep.Container, make([]byte, 0x4000)...)
	if n := len(dispatch(t, deep)); n != len(small) {
		t.Errorf("a deeper graph takes %d bytes, not %d", n, len(small))
	}
	piece := part(t, product(64))
	three, err := New(seven(), piece, piece, piece)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, o := range three.Chain() {
		if o.Type == enums.OpTypeAneInference {
			n++
		}
	}
	if n != 3 || len(three.Bytes()) <= len(small) {
		t.Errorf("three pieces have %d inferences in %d bytes", n, len(three.Bytes()))
	}
	if _, err := New(nil); err == nil {
		t.Error("a descriptor of no program was made")
	}
}

// TestMalformed breaks every word of a descriptor in turn and every rule somewhere.
func TestMalformed(t *testing.T) {
	file := dispatch(t, part(t, product(64)))
	var messages []string
	try := func(b []byte) {
		p, err := Read(b)
		var f *FormatError
		switch {
		case err == nil:
			if _, err := Read(p.Bytes()); err != nil {
				t.Errorf("what was written is not read: %v", err)
			}
		case !errors.As(err, &f) || p != nil || f.Off < 0 || f.Off > len(b):
			t.Errorf("program %v, error %v", p != nil, err)
		default:
			if n := len(messages); n == 0 || messages[n-1] != f.What {
				messages = append(messages, f.What)
			}
		}
	}
	for at := 0; at+4 <= len(file); at += 2 {
		for _, v := range []uint32{0, 1, 4, 0xffff, 0x7fffffff, 0xffffffff, uint32(len(file)), 0xfffffff0} {
			b := bytes.Clone(file)
			binary.LittleEndian.PutUint32(b[at:], v)
			try(b)
			b = bytes.Clone(file)
			binary.LittleEndian.PutUint16(b[at:], uint16(v))
			try(b)
		}
		try(file[:at])
	}
	try(shared())
	slices.Sort(messages)
	messages = slices.Compact(messages)
	list, err := rules.Find([]string{"newFormatError"}, "reader.go", "e5.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if !r.ViolatedBy(messages) {
			t.Errorf("%s: no descriptor breaks the rule %q", r.Place, r.Format)
		}
	}
	t.Logf("%d rules, %d messages", len(list), len(messages))
}

// shared is a descriptor whose thousand symbols are one long string.
func shared() []byte {
	b := flatbuffers.NewBuilder(0)
	s := b.CreateString(strings.Repeat("x", 1000))
	b.StartVector(4, 1000, 4)
	for range 1000 {
		b.PrependUOffsetT(s)
	}
	names := b.EndVector(1000)
	b.StartObject(4)
	b.PrependUOffsetTSlot(0, names, 0)
	b.PrependInt32Slot(3, formatVersion, 0)
	b.Finish(b.EndObject())
	return b.FinishedBytes()
}

// TestMutations reads many broken descriptors without a panic.
func TestMutations(t *testing.T) {
	file := dispatch(t, part(t, product(64)))
	r := rand.New(rand.NewPCG(4, 23))
	n := 100_000
	if testing.Short() {
		n = 5_000
	}
	for range n {
		b := bytes.Clone(file)
		for range 1 + r.IntN(6) {
			at := r.IntN(len(b) - 4)
			switch r.IntN(3) {
			case 0:
				b[at] = byte(r.Uint32())
			case 1:
				binary.LittleEndian.PutUint32(b[at&^3:], r.Uint32N(uint32(2*len(b))))
			case 2:
				copy(b[at:], b[r.IntN(len(b)):])
			}
		}
		if _, err := Read(b); err != nil {
			var f *FormatError
			if !errors.As(err, &f) {
				t.Fatalf("%T %v", err, err)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	one := part(f, product(64))
	f.Add(dispatch(f, one))
	three, err := New(seven(), one, one, one)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(three.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		var p *Program
		var err error
		if rule := cost.Reader.CheckFuzzed(len(file), func() { p, err = Read(file) }); rule != nil {
			t.Error(rule)
		}
		var broken *FormatError
		if err != nil {
			if !errors.As(err, &broken) || p != nil || broken.Off < 0 || broken.Off > len(file) {
				t.Errorf("program %v, error %T %v", p != nil, err, err)
			}
			return
		}
		again, err := Read(p.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Bytes(), p.Bytes()) {
			t.Error("what is written twice differs")
		}
	})
}
