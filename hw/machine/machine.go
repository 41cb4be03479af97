package machine

import (
	"fmt"
	"slices"
	"strings"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/hw/host"
	"anesim/internal/spelling"
)

// A Machine is a computer or a phone with one release of its software.
type Machine struct {
	Name  string
	Title string // for people, such as "MacBook Air (M1)"
	Chip  hw.Chip
	Host  host.Host
	// States lists the clock states of the engine in MHz, lowest first; nil if they are not known.
	// StateSource says where they are from.
	States      []int
	StateSource string
	// GPU and CPU have the rates of the other processors.
	GPU, CPU Processor
	// Sessions says which measurements the row rests on.
	Sessions string
	// Scaled is true for a machine whose programs are not modelled: its times are those of an M1's program
	// at its clock and memory rate.
	Scaled bool
	// Call says how far the time of a call is from measurements, each estimated by a fit that had not seen
	// its machine, its session or its network. The spreads of a later machine, this one and that of its
	// chip, hold the share of the calls on other machines and, if there are enough, also of the
	// machine's own. That of its chip is made of calls that are mostly the engine's.
	Call hw.Spread
	// Energy says how far the energy of a call on a scaled machine is from measurements on others. It
	// is zero for other machines.
	Energy hw.Spread
}

// A Processor has the rates of a CPU or a GPU: 1e9 fp16 operations and 1e9 bytes a second.
type Processor struct{ Rate, Bandwidth evidence.Constant }

// HostSpread returns the spread of calls on the first machine with the named host. A host that no
// machine has takes that of the first machine with the same system, the first word of the name: spreads
// are those of a system. Without either, the spread has no rows.
func HostSpread(host string) (s hw.Spread) {
	system, _, _ := strings.Cut(host, "-")
	for _, m := range machines() {
		if m.Host.Name == host {
			return m.Call
		}
		if name, _, _ := strings.Cut(m.Host.Name, "-"); name == system && s.Rows == 0 {
			s = m.Call
		}
	}
	return s
}

// Noun returns the title with its article, such as "an iPhone 12 (A14)".
func (m *Machine) Noun() string {
	if strings.HasPrefix(m.Title, "i") {
		return "an " + m.Title
	}
	return "a " + m.Title
}

// Found says in a few words how the time of a call on m is found.
func (m *Machine) Found() string {
	if m.Scaled {
		return "scaled from an M1's program"
	}
	return "modelled"
}

// Note returns a sentence that a report about the machine must have, or "".
func (m *Machine) Note() string {
	if !m.Scaled {
		return ""
	}
	return fmt.Sprintf("programs of this generation are not modelled: times are those of an M1's program at the clock and the memory rate of the %s; the intervals are as wide as the errors on %d calls on such machines demand; the energy is known of whole calls only",
		m.Title, m.Call.Rows)
}

// IsScaledChip reports whether the named chip is that of a scaled machine, of which only the energy of a call is
// known.
func IsScaledChip(chip string) bool {
	return slices.ContainsFunc(machines(), func(m Machine) bool { return m.Scaled && m.Chip.Name == chip })
}

// ByName returns the machine with the given name. Case, spaces and hyphens make no difference, so that
// "iPhone 12" and "M1 Max" are names too. If there is none, the error lists the names.
func ByName(name string) (Machine, error) {
	list, wanted := machines(), foldName(name)
	if i := slices.IndexFunc(list, func(m Machine) bool {
		return slices.ContainsFunc(append([]string{m.Name}, aliases[m.Name]...), func(known string) bool { return foldName(known) == wanted })
	}); i >= 0 {
		return list[i], nil
	}
	want := strings.Join(WrittenNames(), ", ")
	switch {
	case strings.HasPrefix(wanted, "iphone"), strings.HasPrefix(wanted, "ipad"), isUnknownGeneration(wanted, 'a'):
		return Machine{}, fmt.Errorf("unknown machine %q; the only phones are those with an A14, iphone12; want %s", name, want)
	case isUnknownGeneration(wanted, 'm'): // of another generation there is nothing to misspell
		return Machine{}, fmt.Errorf("unknown machine %q; want %s", name, want)
	}
	return Machine{}, fmt.Errorf("unknown machine %q; want %s%s", name, want, spelling.Suggest(name, Names()))
}

// foldName returns a name as [ByName] compares it: in lower case, without spaces and hyphens.
func foldName(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(name))
}

// isUnknownGeneration reports whether a folded name begins like the chips of a family, such as 'm', with
// the number of a generation that no machine has.
func isUnknownGeneration(name string, family byte) bool {
	if name == "" || name[0] != family {
		return false
	}
	rest := strings.TrimLeft(name[1:], "0123456789")
	digits := len(name) - 1 - len(rest)
	return digits > 0 && !slices.Contains(Names(), name[:1+digits])
}

// WrittenNames returns the names of all machines for a message, each with the one that people may know
// better, such as "a14 (iphone12)".
func WrittenNames() []string {
	names := Names()
	for i, name := range names {
		if known := aliases[name]; len(known) > 0 {
			names[i] += " (" + known[0] + ")"
		}
	}
	return names
}

// Names returns the names of all machines, in the order of [Machines].
func Names() []string {
	var names []string
	for i := range machines() {
		names = append(names, machines()[i].Name)
	}
	return names
}

// A StateError reports a clock that the engine of a machine does not have.
type StateError struct {
	Machine string
	MHz     int
	States  []int
}

func (e *StateError) Error() string {
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(e.States), " ", ", "), "[]")
	return fmt.Sprintf("the engine of %s has no clock state of %d MHz; want one of %s", e.Machine, e.MHz, list)
}

// AtClock returns m with its engine in the state with the given clock. It returns a *[StateError] if
// the states of m are known and the clock is not among them.
func (m Machine) AtClock(mhz int) (Machine, error) {
	if len(m.States) > 0 && !slices.Contains(m.States, mhz) {
		return m, &StateError{m.Name, mhz, m.States}
	}
	m.Chip = m.Chip.AtClock(clock.Hertz(mhz) * 1e6)
	return m, nil
}

// Wall returns the wall time of a call from the engine's time and the host's. They add up: a call waits
// for the engine, and the host's next call for that one.
func Wall(engine, host clock.Nanoseconds) clock.Nanoseconds { return engine + host }

// CheckState returns a *[StateError] if no machine with the named chip has a clock state of mhz. A chip
// that no machine has, or whose states are not known, may have any clock.
func CheckState(chip string, mhz int) error {
	for _, m := range Machines() {
		if m.Chip.Name == chip && len(m.States) > 0 {
			_, err := m.AtClock(mhz)
			return err
		}
	}
	return nil
}
