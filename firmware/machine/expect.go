package machine

import (
	"fmt"
	"strconv"
	"strings"

	"anesim/firmware/command"
	"anesim/firmware/engine"
	"anesim/hw/spelling"
	"anesim/loader"
)

// expect holds what came against a line: of the last step a name or number, or "finished
// N", "event ID N", "notified NAME N", "crc32 SLOT PORT SUM", "values SLOT PORT V...",
// "cycles SLOT N".
func (p *player) expect(words []string) error {
	switch words[0] {
	case "finished":
		if len(words) != 2 || words[1] != strconv.Itoa(p.machine.finished) {
			return fmt.Errorf("finished: %d requests, expected %s", p.machine.finished, strings.Join(words[1:], " "))
		}
		return nil
	case "event":
		if len(words) != 3 {
			return fmt.Errorf("expect event takes an event and a value")
		}
		id, err := strconv.ParseUint(words[1], 0, 32)
		if err != nil {
			return fmt.Errorf("event %q: want a number", words[1])
		}
		if v := p.machine.Event(uint32(id)); words[2] != strconv.FormatUint(v, 10) {
			return fmt.Errorf("event %d is at %d, expected %s", id, v, words[2])
		}
		return nil
	case "notified":
		if len(words) != 3 {
			return fmt.Errorf("expect notified takes a notification and a number")
		}
		if _, ok := command.Parse(words[1]); !ok {
			return fmt.Errorf("%q is no notification%s", words[1], spelling.Suggest(words[1], notificationNames()))
		}
		if n := p.notified[words[1]]; words[2] != strconv.Itoa(n) {
			return fmt.Errorf("%s: %d so far, expected %s", words[1], n, words[2])
		}
		return nil
	case "cycles":
		if len(words) != 3 {
			return fmt.Errorf("expect cycles takes a slot and a number")
		}
		slot, err := strconv.ParseInt(words[1], 0, 32)
		if err != nil {
			return fmt.Errorf("slot %q: want a number", words[1])
		}
		res, err := p.machine.Result(int32(slot))
		switch {
		case err != nil:
			return err
		case res == nil:
			return fmt.Errorf("the program in slot %d has not run", slot)
		case words[2] != strconv.FormatUint(uint64(res.Report.Cycles), 10):
			return fmt.Errorf("%d cycles, expected %s", res.Report.Cycles, words[2])
		}
		return nil
	case "crc32", "values":
		return p.expectOutput(words)
	}
	want := strings.Join(words, " ")
	for _, name := range p.outcome.names {
		if strings.EqualFold(name, want) {
			return nil
		}
	}
	if p.outcome.text == "" {
		return fmt.Errorf("no step before this one came to anything, expected %s", want)
	}
	return fmt.Errorf("%s, expected %s", p.outcome.text, want)
}

func (p *player) expectOutput(words []string) error {
	if len(words) < 4 {
		return fmt.Errorf("expect %s takes a slot, an output and what it holds", words[0])
	}
	_, port, err := p.port(words[1], words[2], loader.Output)
	if err != nil {
		return err
	}
	number, _, _ := strings.Cut(words[1], ":")
	slot, _ := strconv.ParseInt(number, 0, 32)
	res, err := p.machine.Result(int32(slot))
	if err != nil {
		return err
	}
	if res == nil {
		return fmt.Errorf("%s has not run", p.machine.programs[int32(slot)].image.model.Name())
	}
	for _, out := range res.Outputs {
		if out.Port.Name != port.Name {
			continue
		}
		if words[0] == "crc32" {
			if got := engine.Checksum(out.Data); got != words[3] {
				return fmt.Errorf("output %s has crc32 %s, expected %s", port.Name, got, words[3])
			}
			return nil
		}
		want, err := fp16Words(words[3:], len(out.Data))
		if err != nil {
			return err
		}
		for i := range want {
			if want[i] != out.Data[i] {
				return fmt.Errorf("element %d of output %s is %v, expected %v", i, port.Name, out.Data[i], want[i])
			}
		}
		return nil
	}
	return fmt.Errorf("output %s has no values", port.Name)
}

// notificationNames are the commands that the controller sends.
func notificationNames() (names []string) {
	for id := range command.ID(command.Commands) {
		if info, _ := id.Info(); info.Direction == command.Up {
			names = append(names, info.Name)
		}
	}
	return names
}
