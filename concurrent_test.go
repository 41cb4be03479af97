package anesim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"testing"

	"anesim"
	"anesim/internal/explain"
	"anesim/internal/firmware/machine"
	"anesim/internal/firmware/traffic"
	"anesim/internal/report"
	"anesim/internal/scripts"
	"anesim/loader/lower"
)

// Models are read, run, timed, explained, shared and sent from several goroutines at once, a model shared
// by all of them among them, and every one comes to what it comes to alone. Under the race
// detector this is where shared state would show.
func TestConcurrentUse(t *testing.T) {
	ctx := context.Background()
	shared, err := anesim.Layer("conv", "cin=4", "h=6", "w=5", "cout=8", "k=3", "pad=1")
	if err != nil {
		t.Fatal(err)
	}
	file, err := lower.Example("add")
	if err != nil {
		t.Fatal(err)
	}
	document := func(r *anesim.Result, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = report.WriteJSON(&b, r)
		return b.Bytes(), err
	}
	uses := map[string]func() ([]byte, error){
		"a shared model with values": func() ([]byte, error) { return document(shared.Run(ctx, anesim.Options{Values: true, Workers: 2})) },
		"a shared model, timed":      func() ([]byte, error) { return document(shared.Run(ctx, anesim.Options{Repeat: 3})) },
		"a program of its own": func() ([]byte, error) {
			m, err := anesim.Read("add.hwx", bytes.NewReader(file), int64(len(file)))
			if err != nil {
				return nil, err
			}
			return document(m.Run(ctx, anesim.Options{Values: true}))
		},
		"a session": func() ([]byte, error) {
			s, err := anesim.NewSession(anesim.Options{Values: true})
			if err != nil {
				return nil, err
			}
			l, err := s.Load(ctx, shared)
			if err != nil {
				return nil, err
			}
			if _, err := l.Call(ctx); err != nil {
				return nil, err
			}
			return document(l.Call(ctx))
		},
		"an explanation": func() ([]byte, error) {
			x, err := explain.Explain(ctx, shared, anesim.Options{}, explain.Options{})
			if err != nil {
				return nil, err
			}
			return json.Marshal(x)
		},
		"clients": func() ([]byte, error) {
			s, err := traffic.ReadScript([]byte("duration: 10ms\nclients:\n  - {name: a, layer: conv cin=16 h=8 w=8 cout=16 k=3 pad=same, arrival: poisson, rate: 1000}\n"))
			if err != nil {
				return nil, err
			}
			l, err := scripts.RunClients(ctx, s, nil)
			if err != nil {
				return nil, err
			}
			return json.Marshal(l.Result)
		},
		"a machine": func() ([]byte, error) {
			s, err := machine.ReadScript([]byte("model add layer add c=4\nclient app rights=user-access\ncall app ANE_DeviceOpen\nsend control BOOT\n" +
				"call app ANE_ProgramCreate model=add\ncall app ANE_ProgramPrepare program=1\ncall app ANE_ProgramSendRequest program=1\n"))
			if err != nil {
				return nil, err
			}
			var b bytes.Buffer
			_, err = s.Play(ctx, &b, scripts.Models{Open: anesim.Open})
			return b.Bytes(), err
		},
		"a timer": func() ([]byte, error) {
			timer, err := anesim.NewTimer(anesim.Options{})
			if err != nil {
				return nil, err
			}
			r, err := timer.Time(ctx, shared)
			if err != nil {
				return nil, err
			}
			return []byte(r.Time.String()), nil
		},
	}
	alone := make(map[string][]byte)
	for name, use := range uses {
		if alone[name], err = use(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var wg sync.WaitGroup
	for name, use := range uses {
		for range 4 {
			wg.Go(func() {
				if got, err := use(); err != nil || !bytes.Equal(got, alone[name]) {
					t.Errorf("%s beside others: %d bytes, alone %d, %v", name, len(got), len(alone[name]), err)
				}
			})
		}
	}
	wg.Wait()
}
