package machine

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim"
	"anesim/firmware/engine"
	"anesim/hw/clock"
	"anesim/internal/firmware/broker"
	"anesim/internal/firmware/driver"
	"anesim/internal/material"
	"anesim/internal/samples"
	"anesim/internal/scripts"
)

// Every program gives the same values, cycles and energy by way of broker, driver, ring and
// queue as it does directly, and the stages of its host sum to the host's floor.
func TestProgramsByWayOfTheDriver(t *testing.T) {
	models := samples.Shared(t)
	own := len(models)
	for _, file := range material.More(t, "programs/*.hwx", "programs/text/*.bin") {
		m, err := anesim.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	h, err := engine.HostByName("macos-air")
	if err != nil {
		t.Fatal(err)
	}
	compared, faulted := 0, 0
	for _, model := range models {
		const seed, budget = 5, 1 << 24
		res, err := model.Run(t.Context(), anesim.Options{Values: true, Seed: seed, Host: h, Budget: budget})
		if err != nil {
			t.Errorf("%s: %v", model.Name(), err)
			continue
		}
		want := &res.Programs[0].Result
		m, err := New(t.Context(), Options{Engine: engine.Options{Values: true, Seed: seed, Host: h, Budget: budget}})
		if err != nil {
			t.Fatal(err)
		}
		got, ret := throughDriver(t, m, model)
		if len(want.Report.Faults) > 0 {
			faulted++
			if ret == driver.Success || got == nil {
				t.Errorf("%s: %v; directly it faults", model.Name(), ret)
				continue
			}
			if diff := cmp.Diff(want.Report.Faults, got.Report.Faults); diff != "" || got.Report.Cycles != want.Report.Cycles || got.Report.Energy != want.Report.Energy {
				t.Errorf("%s: %d cycles, directly %d; %s", model.Name(), got.Report.Cycles, want.Report.Cycles, diff)
			}
			continue
		}
		if ret != driver.Success || got == nil {
			t.Errorf("%s: %v", model.Name(), ret)
			continue
		}
		compared++
		if a, b := checksums(got.Outputs), checksums(want.Outputs); a != b {
			t.Errorf("%s: values %s, directly %s", model.Name(), a, b)
		}
		if got.Report.Cycles != want.Report.Cycles || got.Report.Energy != want.Report.Energy || got.Report.Accounting() != want.Report.Accounting() {
			t.Errorf("%s: %v cycles, %v; directly %v, %v", model.Name(), got.Report.Cycles, got.Report.Energy, want.Report.Cycles, want.Report.Energy)
		}
		path, times := h.Path(want.Host), m.engine.session.Options().PowerTimes()
		wake := times.Wake(path.Outside + path.Before) // the engine is idle for so long before the call
		if got.Host != want.Host || math.Abs(float64(got.Dispatches[0].Wake-wake)) > 1e-6 {
			t.Errorf("%s: the host takes %v and a wake %v; want %v, as directly, and %v", model.Name(), got.Host, got.Dispatches[0].Wake, want.Host, wake)
		}
		if all := got.Host + wake + got.Report.Time; math.Abs(float64(m.Now()-all)) > 1 {
			t.Errorf("%s: the call returns at %v; want %v", model.Name(), m.Now(), all)
		}
		sum := clock.Nanoseconds(0)
		for _, s := range h.Stages() {
			sum += clock.Nanoseconds(1e3 * s.Time.Value)
		}
		if floor := clock.Nanoseconds(1e3 * h.Floor.Value); math.Abs(float64(sum-floor)) > 1e-6 || got.Host < floor {
			t.Errorf("%s: stages sum to %v, the floor is %v, the host takes %v", model.Name(), sum, floor, got.Host)
		}
		if l := m.Ledger(); !l.Balanced() || l.Refused+l.Dropped > 0 {
			t.Errorf("%s: %+v", model.Name(), l)
		}
	}
	t.Logf("%d programs of which %d own; %d faulting ones", compared, own, faulted)
	if compared+faulted != len(models) {
		t.Errorf("%d of %d programs", compared+faulted, len(models))
	}
}

// throughDriver runs a model through the driver, from opening the device to releasing the program,
// and returns the result.
func throughDriver(t *testing.T, m *Machine, model *anesim.Model) (*engine.Result, driver.Return) {
	t.Helper()
	address, err := m.Add("model", model)
	if err != nil {
		t.Fatal(err)
	}
	play := func(line string) {
		t.Helper()
		p := &player{w: io.Discard, machine: m}
		words := strings.Fields(line)
		if err := scriptSteps[words[0]].play(p, words[1:]); err != nil {
			t.Fatal(err)
		}
	}
	play("send control BOOT")
	user, ret := m.Driver().NewUserClient(driver.Control, driver.Entitlements{driver.UserAccess}, false)
	if ret != driver.Success {
		t.Fatal(ret)
	}
	p := &player{w: io.Discard, machine: m, clients: map[string]*scriptClient{"c": {user: user}}}
	for _, line := range []string{"call c ANE_DeviceOpen", "call c ANE_ProgramCreate model=model", "call c ANE_ProgramPrepare program=1"} {
		words := strings.Fields(line)
		if err := scriptSteps[words[0]].play(p, words[1:]); err != nil || p.outcome.names[0] != "Success" {
			t.Fatalf("%s at %#x: %v %+v", line, address, err, p.outcome)
		}
	}
	b, err := m.Broker().Connect("c", broker.Identity{}, broker.Unrestricted, broker.Default, broker.Allow)
	if err != nil {
		t.Fatal(err)
	}
	ret, err = m.Ask(b, user, 1, 7)
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Result(0)
	if err != nil {
		t.Fatal(err)
	}
	user.Close()
	b.Disconnect()
	if m.engine.session.Used() != 0 || m.Driver().Clients() != 0 || m.Broker().Clients() != 0 {
		t.Errorf("at rest %d bytes are used, %d and %d clients are there", m.engine.session.Used(), m.Driver().Clients(), m.Broker().Clients())
	}
	return res, ret
}

func play(text string) (string, error) {
	s, err := ReadScript([]byte(text))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	_, err = s.Play(context.Background(), &b, scripts.Models{Open: noFile})
	return b.String(), err
}

// TestRecordedRunsReplay checks that the messages of a run can be replayed, and that wrong
// expectations are found.
func TestRecordedRunsReplay(t *testing.T) {
	for _, words := range []string{"add c=8 w=3", "softmax c=16 w=4", "conv cin=8 h=5 w=5 cout=8 k=3 pad=same"} {
		f := strings.Fields(words)
		m, err := anesim.Layer(f[0], f[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Run(t.Context(), anesim.Options{Values: true, Seed: 9, Repeat: 3})
		if err != nil {
			t.Fatal(err)
		}
		var script strings.Builder
		if err := record(&script, "layer "+words, res); err != nil {
			t.Fatal(err)
		}
		out, err := play(script.String())
		if err != nil || !strings.Contains(out, "3 submitted, 3 finished") {
			t.Errorf("%s: %v\n%s", words, err, out)
		}
		for old, changed := range map[string]string{"seed=9": "seed=8", "cycles 0 ": "cycles 0 1"} {
			_, err := play(strings.Replace(script.String(), old, changed, 1))
			var e *ScriptError
			if !errors.As(err, &e) || !e.Expected {
				t.Errorf("%s with %s: %v", words, changed, err)
			}
		}
	}
}

// record writes a script that repeats a run to w.
func record(w io.Writer, model string, res *anesim.Result) error {
	o, p := &res.Options, &res.Programs[0].Result
	return WriteRecording(w, model, &engine.Options{Chip: o.Chip, Host: o.Host, Seed: o.Seed, Values: o.Values}, p, p.Outputs)
}

func TestScriptErrors(t *testing.T) {
	for text, want := range map[string]string{
		"send control":                 `line 1: step "send" has too few operands (1); want at least 2`,
		"hold\n\nexpekt ok":            `line 3: unknown step "expekt"; did you mean expect?`,
		"hold\noption seed=1":          `line 2: "option" steps must come before all other steps`,
		"option sed=1\nhold":           `line 1: unknown key "sed"; want chip, host, seed, values, depth`,
		"send ring BOOT":               `line 1: unknown channel "ring"; want control or execution`,
		"send control BOOTS":           `line 1: unknown command "BOOTS"; want a command name or number`,
		"call app ANE_DeviceOpen":      "line 1: unknown client \"app\"",
		"client a rights=nope":         `line 1: unknown entitlement "nope"`,
		"model a layer relu q=1":       "line 1: relu: q: unknown key",
		"set 0 x 1":                    "line 1: program slot 0 is empty",
		"expect finished 1":            "line 1: 0 requests finished; want 1",
		"send control BOOT x=1":        `line 1: unknown key "x"; want priority`,
		"model a file gone":            "line 1: file does not exist",
		"send control BOOTT":           `line 1: unknown command "BOOTT"; want a command name or number; did you mean BOOT?`,
		"send controll BOOT":           `line 1: unknown channel "controll"; want control or execution; did you mean control?`,
		"client app rights=user-acess": "line 1: unknown entitlement \"user-acess\"; want adapter-weights",
		"client app rights=user-access\ncall ap ANE_DeviceOpen":             "line 2: unknown client \"ap\"; did you mean app?",
		"client app rights=user-access\ncall app ANE_DeviceOpn":             "line 2: unknown selector \"ANE_DeviceOpn\" for a control client; did you mean ANE_DeviceOpen or ANE_DeviceClose?",
		"client app rights=user-access\nraw app ANE_PowerOnn":               "line 2: unknown method \"ANE_PowerOnn\"; did you mean ANE_PowerOn or ANE_PowerOff?",
		"client app rights=user-access\nraw app ANE_ReadRegister 1":         "line 2: unknown method \"ANE_ReadRegister\"; did you mean ANE_ReadANERegister or",
		"client app rights=user-access\ncall app ANE_DeviceOpen siz=4":      `line 2: unknown key "siz"; want`,
		"client app rights=user-access\ncall app 2 surfaces=x":              `line 2: unknown buffer "x"`,
		"client app rights=user-access\nmap app b bytes=4":                  `line 2: a control client has no selector ANE_MemoryMapRequest; want a client with "kind=direct"`,
		"client a kind=direct rights=user-access\ncall a ANE_ProgramCreate": `line 2: a direct path client has no selector ANE_ProgramCreate; want a client with "kind=control"`,
		"model net layer add c=4\nsend control LOAD_PROGRAM model=nett":     `line 2: unknown model "nett"; did you mean net?`,
		"send execution PROCEDURE_CALL_WITH_SIGNAL_EVENTS signal=1:x":       `line 1: invalid value "1:x" for "signal":`,
		"send execution PROCEDURE_CALL_WITH_SIGNAL_EVENTS signal=-":         `line 1: invalid value "-" for "signal"; want a count`,
		"send execution PROCEDURE_CALL_WITH_SIGNAL_EVENTS signal=9999999":   `line 1: too many entries (9999999) in "signal"`,
		"expect notified PROGRAM_EVEN 1":                                    `line 1: unknown notification "PROGRAM_EVEN"; did you mean PROGRAM_EVENT?`,
		"expect event x 1":                                                  `line 1: invalid event "x"; want a number`,
		"expect ok":                                                         `line 1: no earlier step has an outcome; want "ok"`,
		"wait 2500h\nwait 1us\nhold":                                        "line 2: the clock has passed 2500 hours, up to which times are exact to the nanosecond",
		"until 9223372036854775807ns":                                       "line 1: the clock has passed 2500 hours",
		"until never":                                                       `line 1: invalid time "never"; want a duration since the start, such as 1.5ms`,
		"signal 1":                                                          `line 1: step "signal" has too few operands (1); want at least 2`,
		"model a layers add c=4 / reluu c=4":                                `line 1: unknown operation "reluu"`,
		"model a layer add c=4\nsend control BOOT\nsend control LOAD_PROGRAM program=0 model=a\nset 0 xx 1":  `line 4: program in slot 0 has no input "xx"; want one of x, z`,
		"model a layer add c=4\nsend control BOOT\nsend control LOAD_PROGRAM program=0 model=a\nset 0:1 x 1": "line 4: program in slot 0 has no procedure 1",
		"client a kind=direct\nclient a\nclient b rights=user-access\nclient b":                              "line 4: duplicate client \"b\"",
	} {
		_, err := play(text)
		var e *ScriptError
		if !errors.As(err, &e) || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Random steps leave the ledger balanced and the memory accounted, and never panic.
func FuzzScript(f *testing.F) {
	f.Add([]byte("model a layer add c=4\nsend control BOOT\nsend control LOAD_PROGRAM program=0 model=a\nsend control CREATE_PROCESS program=0 process=0\nhold\nsend execution PROCEDURE_CALL program=0 process=0\nsend control UNLOAD_PROGRAM program=0\ndrain"))
	f.Add([]byte("client a rights=user-access,broker qos=utility\ncall a 0\ncall a 3 model=\nask a program=1\nclose a\ncall a 0"))
	for _, name := range []string{"async", "broker", "buffers", "events", "gates", "resident", "secure"} {
		if text, err := os.ReadFile(filepath.Join("..", "..", "..", "tools", "anesim", "examples", name+".fw")); err == nil {
			f.Add(text)
		}
	}
	f.Add([]byte("send control BOOT\nsend control RESET\nsend control PROCEDURE_CALL bytes=7\nsend 9 9"))
	small := map[string]bool{"layer add c=4": true, "layer relu c=4": true, "layer add c=64": true, "layers add c=4 w=8 / relu c=4 w=8": true}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return
		}
		s, err := ReadScript(data)
		if err != nil {
			return
		}
		for _, l := range s.lines {
			if text := strings.Join(l.words[1:], " "); l.words[0] == "model" && len(l.words) > 3 && !small[text[strings.Index(text, " ")+1:]] {
				return // a layer of any size takes any time
			}
		}
		m, err := s.Play(t.Context(), io.Discard, scripts.Models{Open: noFile})
		var e *ScriptError
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		if m == nil {
			return
		}
		if l := m.Ledger(); !l.Balanced() {
			t.Errorf("%+v", l)
		}
		if q := m.Queue().Stats(); q.Submitted != q.Finished+q.Aborted+uint64(m.Queue().Waiting()) {
			t.Errorf("%+v", q)
		}
		used := uint64(0)
		for _, slot := range m.Slots() {
			for _, p := range m.engine.programs[slot].procedures {
				used += p.loaded.Bytes()
			}
		}
		for _, size := range m.engine.buffers {
			used += size
		}
		if m.engine.session.Used() != used {
			t.Errorf("%d bytes are used, programs and buffers have %d", m.engine.session.Used(), used)
		}
	})
}
