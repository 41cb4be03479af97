package machine

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/internal/scripts"
)

// TestAdapters checks that an adapter of a resident model computes what a program with its weights
// computes, that the model's own instance keeps its weights, and that an adapter takes the memory of its
// weights alone, until its client has gone.
func TestAdapters(t *testing.T) {
	keys := []string{"cin=16", "h=8", "w=8", "cout=16", "k=3", "pad=same"}
	files := map[string]*anesim.Model{}
	values := map[string][]float16.Float16{}
	for i, name := range []string{"base", "mail"} { // with the weights of two seeds
		m, err := anesim.Layer("conv", keys...)
		if err != nil {
			t.Fatal(err)
		}
		list, err := m.Programs(t.Context(), anesim.Options{Seed: uint64(1 + 6*i), Values: true})
		if err != nil {
			t.Fatal(err)
		}
		files[name] = anesim.FromProgram(list[0])
		res, err := files[name].Run(t.Context(), anesim.Options{Seed: 1, Values: true})
		if err != nil {
			t.Fatal(err)
		}
		values[name] = res.Outputs[0].Data
	}
	if slices.Equal(values["base"], values["mail"]) {
		t.Fatal("both have the same values")
	}
	open := func(name string) (*anesim.Model, error) {
		if m := files[name]; m != nil {
			return m, nil
		}
		return nil, errors.New("no such file")
	}
	run := func(text string) (*Machine, string) {
		t.Helper()
		s, err := ReadScript([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		m, err := s.Play(t.Context(), io.MultiWriter(&out), scripts.Models{Open: open})
		if err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		return m, out.String()
	}
	const start = `option seed=1
model base file base
model mail file mail
model other layer add c=4
send control BOOT
client a rights=broker,adapter-weights
client c rights=broker,adapter-weights,model-share
lease a model=base
`
	m, _ := run(start)
	alone := m.engine.session.Used()
	const first, second = "lease a model=base weights=mail\nexpect Success\n", "lease c model=base weights=mail\nexpect Success\n"
	m, _ = run(start + first)
	each := m.engine.session.Used() - alone
	if each < 16*16*9*2 || each > alone/2 {
		t.Errorf("an adapter takes %d bytes, the model %d", each, alone)
	}
	for _, tc := range []struct{ calls, want string }{
		{"ask a program=0x100000001\nexpect Success\n", "mail"},
		{"ask a program=0x100000001\nask a program=1\nexpect Success\n", "base"},
		{"ask a program=1\nask c program=0x200000001\nexpect Success\n", "mail"},
		{"close a\nask c program=0x200000001\nexpect Success\n", "mail"},
	} {
		m, _ := run(start + first + second + tc.calls)
		res, err := m.Result(0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(res.Outputs[0].Data, values[tc.want]) {
			t.Errorf("%s: not the values of %s", tc.calls, tc.want)
		}
		want := alone + 2*each
		if strings.HasPrefix(tc.calls, "close") {
			want = alone + each
		}
		if used := m.engine.session.Used(); used != want {
			t.Errorf("%s: %d bytes used; want %d", tc.calls, used, want)
		}
	}
	m, _ = run(start + first + second + "close c\nclose a\n")
	if used := m.engine.session.Used(); used != 0 {
		t.Errorf("%d bytes stay in use", used)
	}
	m, _ = run(start + first + "send control RESET\nask a program=0x100000001\nexpect NotFound\nlease a model=base weights=mail\nexpect NotFound\nclose a\nclose c\n")
	if used := m.engine.session.Used(); used != 0 {
		t.Errorf("after a reset, %d bytes stay in use", used)
	}
	_, out := run(start + `lease c model=other weights=mail
expect NotFound
lease a model=base weights=other
expect BadArgument
client b rights=broker,model-share
lease b model=base weights=mail
expect denied
`)
	for _, want := range []string{"they take 16384 bytes; want ", "adapterWeight.allow"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
