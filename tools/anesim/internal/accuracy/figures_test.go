package accuracy

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anesim/bench"
	"anesim/hw"
	"anesim/hw/host"
	"anesim/hw/machine"
	"anesim/internal/measured"
)

var update = flag.Bool("update", false, "write what is computed into the pages")

// A figure is a paragraph, list item, row of a table or the rows of a table of a page that state what is
// computed: the one that begins with a text. The rows of a table follow its head, with which text begins.
type figure struct{ page, begins, text string }

// Pages state the accuracy that the command computes, and what tables of tests say. -update
// writes them.
func TestAccuracyFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes every figure of two pages: a run that is not short has them")
	}
	root := filepath.Join("..", "..", "..", "..")
	f := newFigures(t, root)
	for _, page := range []string{"README.md", "docs/accuracy.md"} {
		name := filepath.Join(root, filepath.FromSlash(page))
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		now := string(b)
		for _, x := range f.list() {
			if x.page != page {
				continue
			}
			if !strings.HasPrefix(x.text, x.begins) || strings.Count(now, "\n"+x.begins) != 1 {
				t.Errorf("%s has %d paragraphs that begin with %q, of which the text is\n%s", page, strings.Count(now, "\n"+x.begins), x.begins, x.text)
				continue
			}
			at := strings.Index(now, "\n"+x.begins) + 1
			end := at + blockEnd(now[at:])
			if strings.Contains(x.text, "\n|") {
				end = at + strings.Index(now[at:], "\n\n")
			}
			if now[at:end] != x.text && !*update {
				t.Errorf("%s is not what is computed (-update writes it). It has\n%s\nwhere it is\n%s", page, now[at:end], x.text)
			}
			now = now[:at] + x.text + now[end:]
		}
		if *update {
			if err := os.WriteFile(name, []byte(now), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// blockEnd returns the index at which the paragraph, list item or table row at the start of text
// ends.
func blockEnd(text string) int {
	end := len(text)
	for _, next := range []string{"\n\n", "\n- ", "\n|"} {
		if i := strings.Index(text, next); i >= 0 {
			end = min(end, i)
		}
	}
	return end
}

// figures holds the numbers that pages quote.
type figures struct {
	*Report
	networks         []bench.NetworkResidual
	phones           []bench.NetworkSummary // the last leaves families out
	macs             bench.NetworkSummary
	identity, chains [4]string // "x of y" of the comparisons with Apple's compiler
}

func newFigures(t *testing.T, root string) *figures {
	t.Helper()
	rows, err := measured.Rows()
	if err != nil {
		t.Fatal(err)
	}
	f := new(figures)
	if f.Report, err = New(rows, true); err != nil {
		t.Fatal(err)
	}
	if f.networks, err = compareNetworks(); err != nil {
		t.Fatal(err)
	}
	if f.phones, err = bench.SummarizeNetworks(f.networks); err != nil {
		t.Fatal(err)
	}
	if f.macs, err = bench.SummarizeMacs(f.networks); err != nil {
		t.Fatal(err)
	}
	read := func(name, pattern string) (out [4]string) {
		b, err := os.ReadFile(filepath.Join(root, "loader", "lower", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindStringSubmatch(string(b))
		if m == nil {
			t.Fatalf("%s does not say %q", name, pattern)
		}
		copy(out[:], m[1:])
		return out
	}
	f.identity = read("identity.md", `(?m)^(\d+) of (\d+) texts of the programs are identical and (\d+) of the (\d+) oracles and texts that are one layer`)
	f.chains = read("chains.md", `(?m)^(\d+) of (\d+) chains`)
	return f
}

// list returns the statements that the pages quote, each with the current figures.
func (f *figures) list() []figure {
	tiers := func(a *bench.Accuracy) []bench.Group { return a.Tiers }
	energy := func(a *bench.Accuracy) []bench.Group { return a.Energy }
	sizes := func(a *bench.Accuracy) []bench.Group { return a.Sizes }
	id, chains := f.identity, f.chains
	list := []figure{
		f.first(),
		{"docs/accuracy.md", "| lowering |", fmt.Sprintf("| lowering | %s of the %s texts of real programs and %s of the %s further single layers are byte-identical; %s of the %s layer chains have the compiler's number of tasks, constant sizes and scratch sizes | Apple's compiler (`loader/lower/testdata/identity.md`, and `chains.md` next to it) |",
			id[0], id[1], id[2], id[3], chains[0], chains[1])},
		f.readmePrograms(), f.readmeLatency(), f.readmeEnergy(), f.readmeNetworks(),
		f.row("latency, engine-dominated", tiers, "T0"),
		f.row("latency, engine-dominated and mixed", tiers, "T0+T1"),
		f.row("latency, all with a shape", tiers, "all"),
		f.row("calls below 500 us", sizes, "below 500 us"),
		f.row("calls of 500 us to 2 ms", sizes, "500 us to 2 ms"),
		f.row("calls of 2 to 10 ms", sizes, "2 to 10 ms"),
		f.row("calls of 10 ms or longer", sizes, "10 ms or longer"),
		f.row("energy of matmul, conv, LLM decoding", energy, "matmul+conv+decode"),
		f.row("energy, all", energy, "all"),
	}
	return append(list, f.page()...)
}

// readmePrograms returns the README's row on the programs of Apple's compiler.
func (f *figures) readmePrograms() figure {
	var n [4]int
	for i, text := range f.identity {
		n[i], _ = strconv.Atoi(text)
	}
	return figure{"README.md", "| programs |", fmt.Sprintf("| programs | %d programs of single layers by Apple's compiler | %d identical, byte for byte |", n[1]+n[3], n[0]+n[2])}
}

// readmeLatency returns the README's row on the latency of calls.
func (f *figures) readmeLatency() figure {
	all := f.summaries(func(a *bench.Accuracy) []bench.Group { return a.Tiers }, "all")
	engine := f.summaries(func(a *bench.Accuracy) []bench.Group { return a.Tiers }, "T0")
	return figure{"README.md", "| time of a call |", fmt.Sprintf("| time of a call | %d published calls on M1 machines | unseen %s; for the %d in which the engine takes most of the time, %s; the %s intervals held %s |",
		all[2].N, withBias(all[2]), engine[2].N, withBias(engine[2]), hw.IntervalPercent, f.held(bench.BySession, "all"))}
}

// readmeEnergy returns the README's row on the energy of calls.
func (f *figures) readmeEnergy() figure {
	all := f.summaries(func(a *bench.Accuracy) []bench.Group { return a.Energy }, "all")
	return figure{"README.md", "| energy of a call |", fmt.Sprintf("| energy of a call | %d published calls | unseen %s |", all[2].N, withBias(all[2]))}
}

// readmeNetworks returns the README's row on whole networks.
func (f *figures) readmeNetworks() figure {
	family := &f.phones[len(f.phones)-1]
	return figure{"README.md", "| time of a network |", fmt.Sprintf("| time of a network | %d published networks on phones with an A14, %d on Macs | unseen %s and %s |", family.N, f.macs.N, withBias(family.Summary), withBias(f.macs.Summary))}
}

// row returns a row of the table in the page on accuracy for the named group.
func (f *figures) row(what string, groups func(*bench.Accuracy) []bench.Group, name string) figure {
	s := f.summaries(groups, name)
	begins := "| " + what + " |"
	return figure{"docs/accuracy.md", begins, fmt.Sprintf("%s %d | **%s** | %s | %s |", begins, s[0].N, cell(s[2]), cell(s[1]), cell(s[0]))}
}

// summaries returns the summaries of the named group for the fit to all rows, for fits without the
// row's shape, and for fits without its session.
func (f *figures) summaries(groups func(*bench.Accuracy) []bench.Group, name string) (s [3]bench.Summary) {
	for i, a := range []*bench.Accuracy{f.Accuracy, f.left[bench.ByShape], f.left[bench.BySession]} {
		s[i] = findGroup(groups(a), name)
	}
	return s
}

func cell(s bench.Summary) string {
	return fmt.Sprintf("%s, %.0f%%", withBias(s), 100*s.P90)
}

// withBias returns the median of the errors and, in parentheses, their bias.
func withBias(s bench.Summary) string {
	return fmt.Sprintf("%.1f%% (%+.1f%%)", 100*s.Median, 100*s.Bias)
}

// first returns the sentence with which the page on accuracy begins.
func (f *figures) first() figure {
	all := findGroup(f.left[bench.BySession].Tiers, "all")
	energy := findGroup(f.left[bench.BySession].Energy, "all")
	return figure{"docs/accuracy.md", "On an M1 machine", wrap(fmt.Sprintf(
		"On an M1 machine with software (a session) that the model was not fitted to, the time of a call is off by %.1f%% in the median of %d published calls, nine of ten by at most %.0f%%, and its energy by %.1f%%. Values equal those of silicon in all digits that were published, where a public result settles the arithmetic.",
		100*all.Median, all.N, 100*all.P90, 100*energy.Median), "")}
}

// page returns the paragraphs of the page on accuracy that quote figures.
func (f *figures) page() []figure {
	widths := f.spreads.UnseenWidths()
	list := []figure{{"docs/accuracy.md", "The 80% intervals", wrap(fmt.Sprintf(
		"The %s intervals contain %s of the rows for unseen shapes and %s for unseen sessions; of engine-dominated and mixed rows %s and %s, of engine-dominated ones alone %s and %s. A test asserts that they contain 75 to 88%% in every cut of 20 rows or more, by session, machine, kind of work and length of the call, and in smaller cuts numbers that chance explains (a binomial test, two-sided at 5%%). Their widths are fitted to errors of fits that had not seen the row; with widths fitted without the row's session too, they contain %d of %d. Norms have an interval of their own: their programs are not known, and of ten, three took more than twice as long as estimated and one took half. The intervals that `run` and `model` print are for the engine's part of the time; computed from other sessions, they contain %s of the rows whose time is mostly the engine's.",
		hw.IntervalPercent, f.held(bench.ByShape, "all"), f.held(bench.BySession, "all"), f.held(bench.ByShape, "T0+T1"), f.held(bench.BySession, "T0+T1"),
		f.held(bench.ByShape, "T0"), f.held(bench.BySession, "T0"), widths.Holds, widths.N, f.heldEngine()), "")}}
	list = append(list, f.covered())
	var holds []float64
	for _, h := range host.Presets() {
		if h.Hold.Value > 0 {
			holds = append(holds, h.Hold.Value/1e6)
		}
	}
	slices.Sort(holds)
	var rail []string
	for _, h := range holds {
		rail = append(rail, fmt.Sprintf("%.2g", h))
	}
	var alone []string
	for _, name := range []string{"linux", "linux-m1", "macos-guide"} {
		alone = append(alone, fmt.Sprintf("`%s` %s", name, withBias(findGroup(f.left[bench.BySession].Sessions, name))))
	}
	const page = "docs/accuracy.md"
	list = append(list,
		figure{page, "- Machines with one measured session", wrap(fmt.Sprintf("- Machines with one measured session have no host constants without it: %s.", strings.Join(alone, ", ")), "  ")},
		figure{page, "- Matmuls of two inputs", wrap(fmt.Sprintf("- Matmuls of two inputs at low clocks, four rows: %s for unseen shapes. In one of them, a copy that must run with matmuls adds its time. Without them, engine-dominated and mixed rows have %s.", withBias(findGroup(f.left[bench.ByShape].Ops, "bmm")), withBias(f.withoutProducts())), "  ")},
		figure{page, "- 1x1 convolutions in a stack", wrap(fmt.Sprintf("- 1x1 convolutions in a stack of equal layers: %s. `bench` has tests for known gaps, which fail once a gap closes.", f.stackErrors()), "  ")},
		figure{page, "- Energy of calls that wait", wrap(fmt.Sprintf("- Energy of calls that wait long on an unseen machine: the time that its supply rail stays on (%s ms on the known ones) is taken from another machine.", strings.Join(rail, ", ")), "  ")})
	var others []string
	families := make(map[string]bool)
	for i := range f.networks {
		n := &f.networks[i]
		if strings.HasPrefix(n.Row.On, "a14") {
			families[n.Row.Family] = true
			continue
		}
		others = append(others, fmt.Sprintf("| %s | `%s` | %+.1f%% |", n.Row.Network, n.Row.On, 100*n.Time.Error()))
	}
	later, _, err := bench.CompareLater()
	if err != nil {
		panic(err) // the built-in rows are read
	}
	machines, err := bench.SummarizeLater(later)
	if err != nil {
		panic(err)
	}
	energies, _, err := bench.JudgeLaterEnergies(later)
	if err != nil {
		panic(err)
	}
	without, err := machine.ByName("m3")
	if err != nil {
		panic(err)
	}
	energy, engine := &energies[len(energies)-1], bench.EngineCoverage(later)[0]
	var each []string
	for _, m := range machines[:len(machines)-1] {
		each = append(each, fmt.Sprintf("| `%s` | %d | %.0f%% (%+.0f%%) |", m.Machine, m.N, 100*m.Median, 100*m.Bias))
	}
	all := &machines[len(machines)-1]
	const laterHead, macsHead = "| machine | calls | median (bias) |\n|---|---|---|", "| network on a Mac | machine | error |\n|---|---|---|"
	list = append(list, figure{page, "On machines from M2 to M6", wrap(fmt.Sprintf(
		"On machines from M2 to M6, %d published calls have a median error of %s, p90 %.0f%%, each with the constants of a call fitted without its machine; %.0f%% lie inside their intervals (`anesim accuracy --machines`). The times are those of an M1's program at the clock and the memory rate of the machine. Its rate for tensors was chosen with all rows in sight. Programs of those generations and skipped zero weights are not modelled. For rows with 8-bit activations (M4 and later) the array runs at twice its rate, which a network of yours does not get. The engine's part of the calls that are mostly its own has an interval from such calls on other machines, which holds %d of %d.",
		all.N, withBias(all.Summary), 100*all.P90, 100*all.Holds.Share(), engine.Holds, engine.N), "")},
		figure{page, "The energy of a call there", wrap(fmt.Sprintf(
			"The energy of a call there has three constants, for multiply-accumulates, bytes moved and time, which are fitted to the rail energies of %d calls, all machines counted the same. With the machine left out they have a median error of %s, p90 %.0f%%, and %.0f%% lie inside their intervals, such as %+.0f to %+.0f%% on a machine without rows: supplies differ between machines, so that some calls on an M2 draw four times as much as estimated, and most on an M5 half. A constant for each machine leaves the error of unseen calls as it is. Norms draw up to ten times as much, with 8-bit activations the array draws less; neither is in the fit. Energies of layers are not judged.",
			energy.N, withBias(energy.Summary), 100*energy.P90, 100*energy.Holds.Share(), 100*(without.Energy.Low-1), 100*(without.Energy.High-1)), "")}, figure{page, laterHead, laterHead + "\n" + strings.Join(each, "\n")})
	list = append(list, figure{"README.md", "| time on later machines |", fmt.Sprintf("| time on later machines | %d published calls on M2 to M6, timed as an M1's program at their clock | unseen machine %s; the %s intervals held %.0f%% |",
		all.N, withBias(all.Summary), hw.IntervalPercent, 100*all.Holds.Share())})
	family := &f.phones[len(f.phones)-1]
	return append(list, figure{page, "On phones with an A14", wrap(fmt.Sprintf(
		"On phones with an A14 (`--machine a14`; those of 2022 `--machine a14-ios15`), %d networks of %d families have a median error of %s with the time of a call fitted without their family (%d within 10%%, %d within 15%%; worst %s %+.0f%%). The rates of the A14 were chosen with these networks in sight. On Macs, %d networks, of which none is in a fit, have %s (`anesim accuracy --networks`):",
		family.N, len(families), withBias(family.Summary), family.Within10, family.Within15, family.Worst, 100*family.WorstError, f.macs.N, withBias(f.macs.Summary)), "")}, figure{page, macsHead, macsHead + "\n" + strings.Join(others, "\n")})
}

// coverage returns how many measurements lie within the intervals around the predictions of a
// protocol.
func (f *figures) coverage(protocol bench.Protocol) []bench.Coverage {
	i := slices.IndexFunc(f.listCoverages(), func(c coverage) bool { return c.key == protocol.String() })
	return f.listCoverages()[i].rows
}

func (f *figures) held(by bench.Protocol, name string) string {
	list := f.coverage(by)
	i := slices.IndexFunc(list, func(c bench.Coverage) bool { return c.Name == name })
	return fmt.Sprintf("%.0f%%", 100*list[i].Share())
}

// heldEngine returns the smallest share of measurements, as text, that the band of any kind of work
// contains.
func (f *figures) heldEngine() string {
	b := slices.MinFunc(f.bands, func(a, b bench.EngineBand) int { return cmp.Compare(a.Holds.Share(), b.Holds.Share()) })
	return fmt.Sprintf("%.0f%%", 100*b.Holds.Share())
}

// covered returns the paragraph on the kinds of work that measured rows cover, and on the interval
// of the others.
func (f *figures) covered() figure {
	var covered, not []string
	for i := range f.works {
		if w := &f.works[i]; w.Rows > 0 {
			covered = append(covered, fmt.Sprintf("%v (%d)", w.Work, w.Rows))
		} else {
			not = append(not, w.Work.String())
		}
	}
	b := &f.bands[slices.IndexFunc(f.bands, func(b bench.EngineBand) bool { return b.Kind == bench.Unmeasured })]
	return figure{"docs/accuracy.md", "Measured rows cover", wrap(fmt.Sprintf(
		"Measured rows cover %d of %d kinds of the engine's work: %s. The time of such a row is mostly the engine's, and the engine spends most of it on that work, copies of a matmul's operands included. No row covers the rest, which is *unmeasured*: %s. Such work has an interval of %+.0f to %+.0f%%, computed from fits without the row's kind (windows, 1x1, matmuls, passes) and bounds without its operation. It holds %d of %d rows.",
		len(covered), len(f.works), strings.Join(covered, ", "), strings.Join(not, ", "), 100*(b.Low-1), 100*(b.High-1), b.Holds.Holds, b.Holds.N), "")}
}

// withoutProducts returns the errors of engine-dominated and mixed rows for unseen shapes, without
// products of two inputs.
func (f *figures) withoutProducts() bench.Summary {
	var pairs []bench.Pair
	for i := range f.left[bench.ByShape].Rows {
		if r := &f.left[bench.ByShape].Rows[i]; (r.Sample.Row.Tier == "T0" || r.Sample.Row.Tier == "T1") && r.Sample.Row.Op != "bmm" && r.Time.Reference > 0 {
			pairs = append(pairs, r.Time)
		}
	}
	s, err := bench.Summarize(pairs)
	if err != nil {
		panic(err) // the published times are positive
	}
	return s
}

// stackErrors returns the errors, as text, of the rows that measure a 1x1 layer in a stack.
func (f *figures) stackErrors() string {
	var list []string
	for i := range f.Rows {
		if r := &f.Rows[i]; r.Sample.Row.Op == "conv_slope" && r.Sample.Row.Kh == 1 {
			list = append(list, fmt.Sprintf("%+.0f", 100*r.Time.Error()))
		}
	}
	return strings.Join(list, " and ") + "%"
}

// wrap breaks a paragraph into lines of the width that the pages have, with an indent before all
// lines but the first.
func wrap(text, indent string) string {
	const width = 95
	var out strings.Builder
	at := 0
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		word := words[i]
		for i+1 < len(words) && strings.HasPrefix(words[i+1], "%") { // a number stays with its unit
			i++
			word += " " + words[i]
		}
		switch {
		case at == 0:
		case at+1+len(word) > width:
			out.WriteString("\n" + indent)
			at = len(indent)
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += len(word)
	}
	return out.String()
}
