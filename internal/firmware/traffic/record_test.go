package traffic_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/internal/firmware/traffic"
	"anesim/internal/scripts"
)

func TestLoadsThatCannotBeRecorded(t *testing.T) {
	s := &traffic.Script{Duration: time.Millisecond, Clients: []traffic.ScriptClient{{Name: "a", Layer: "add c=4"}}}
	l, err := scripts.RunClients(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	var e *engine.OptionError
	name := func(*traffic.ScriptClient) string { return "builtin" }
	if err := l.WriteMachineScript(&strings.Builder{}, name); !errors.As(err, &e) {
		t.Errorf("without events: %v", err)
	}
	s.Events = traffic.MaxEvents
	if l, err = scripts.RunClients(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.WriteMachineScript(&strings.Builder{}, func(*traffic.ScriptClient) string { return "file a#b" }); !errors.As(err, &e) {
		t.Errorf("a name with #: %v", err)
	}
	s.Power = firmware.PowerPolicy{AlwaysOn: true}
	if err := l.WriteMachineScript(&strings.Builder{}, name); !errors.As(err, &e) {
		t.Errorf("power settings: %v", err)
	}
	s.Power = firmware.PowerPolicy{}
	for range traffic.MaxRecordedCalls {
		l.Events = append(l.Events, traffic.Event{What: traffic.Queued})
	}
	if err := l.WriteMachineScript(&strings.Builder{}, name); !errors.As(err, &e) {
		t.Errorf("too many calls: %v", err)
	}
}
