package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/bench/explain"
	"anesim/bench/report"
	"anesim/hw/clock"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/view"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	runFlags
	layer string
	dimFlags
	inMemory bool
	top      int
}

func explainCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain FILE",
		Short: "What bounds a program, a network or a layer, and what makes it faster",
		Long: `Explain runs a compiled program, a network or a layer, says what bounds each descriptor or
layer and by how much, and tries changes: it runs each, and prints those that take less
time, what gains most first, with the command that shows the gain and what the change
costs elsewhere. Changes are ones that a user can make:

  layers     pixels in a row or a column, height and width swapped, softmax, norms and
             reductions along another axis, channels filled up to multiples of 16, a batch
             as groups, a product as a 1x1 convolution or with its sides swapped
  networks   those of the layers that take most (--top), convolutions and products side by
             side or one behind the other merged, convolutions split, and tensors in the L2
             or memory
  programs   register fields that a compiler chooses (--set), on all descriptors at once:
             strides in the L2, tile height, output-channel group, MAC engines; those that
             change the values that come out are left out
  weights    half of them zero, in convolutions of stride 2, where zeros are left out
  all        tiles closed, where that saves energy and costs no time (--gate-tiles)

Then it times the whole on other machines (a faster clock, more bandwidth, more L2 banks):
what limits it that no change to the model moves.

Layers of a network are reshaped, merged and split within the network, and that is left out
where it would take more dispatches. Other changes to a layer are tried on the layer by itself, with its
tensors in memory; what they gain within the network also depends on its neighbours.`,
		Example: `  anesim explain tools/anesim/examples/resnet50.yaml
  anesim explain model.hwx --json
  anesim explain --layer "softmax c=64 h=8 w=8"`,
		ValidArgsFunction: networkFiles,
		RunE:              f.run,
	}
	s := c.Flags()
	f.registerOnly(s, "chip", "gate-tiles", "seed", "json")
	s.StringVar(&f.layer, "layer", "", "explain a layer, `\"OP key=value...\"`, and no file")
	f.dimFlags.register(s)
	s.BoolVar(&f.inMemory, "in-memory", false, "send every tensor between a network's layers to memory and back")
	s.IntVar(&f.top, "top", 5, "try changes on the `N` kinds of layers that take most")
	completeFlags(c)
	return c
}

func (f *explainFlags) run(c *cobra.Command, args []string) error {
	f.timingOnly, f.repeat = true, 1
	o, err := f.options()
	if err != nil {
		return err
	}
	if f.top < 1 {
		return usage("--top %d: must be 1 or more", f.top)
	}
	how := explain.Options{Top: f.top}
	var m *anesim.Model
	switch {
	case f.layer != "" && len(args) > 0:
		return usage("--layer and a file are mutually exclusive")
	case f.layer != "":
		m, err = parseLayer(strings.Fields(f.layer))
	default:
		if err := oneFile(c, args); err != nil {
			return err
		}
		how.File = args[0]
		m, err = f.dimFlags.open(anesim.OpenOptions{InMemory: f.inMemory}, args[0], args, c.InOrStdin())
	}
	if err != nil {
		return err
	}
	for _, name := range [...]string{"chip", "gate-tiles", "seed"} {
		if x := c.Flags().Lookup(name); x.Changed {
			how.Flags = append(how.Flags, "--"+name, x.Value.String())
		}
	}
	how.Flags = append(how.Flags, f.dimFlags.flags()...)
	ctx, stop := interruptible()
	defer stop()
	doc, err := explain.Explain(ctx, m, o, how)
	if err != nil {
		return modelError(m, err)
	}
	if f.json {
		return report.WriteDocument(c.OutOrStdout(), doc)
	}
	return writeExplanation(c.OutOrStdout(), doc, f.top)
}

// explainWidth is the width of the text that goes to no terminal. Commands stand on lines
// of their own, whole, so that they can be copied.
const explainWidth = 100

func writeExplanation(w io.Writer, d *explain.Explanation, top int) error {
	p := newPager(w)
	if p.Width == 0 {
		p.Width = explainWidth
	}
	what := "layer"
	if d.Kind != "network" {
		what = "td"
	}
	p.Printf("%s  %s on chip %s: %s cycles, %v, %v without the dispatch, %s moved", report.Printable(d.Model), d.Kind, d.Chip,
		report.Thousands(d.Now.Cycles), d.Now.TimeNs, d.Now.EnergyNJ, report.Bytes(d.Now.DMABytes))
	p.Printf("")
	t := terminal.NewTable(
		terminal.Word(what, 0), terminal.Word("op", 3), terminal.Number("cycles", 0), terminal.Number("share", 0), terminal.Word("bound by", 0), terminal.Number("for", 0),
		terminal.Number("works for", 1), terminal.Number("array needs", 1), terminal.Number("memory needs", 1),
	)
	shown := d.Parts[:min(len(d.Parts), max(top, 5))]
	for i := range shown {
		x := &shown[i]
		t.Add(report.Printable(strings.TrimPrefix(x.Name, "td ")), report.Printable(x.Op), report.Thousands(x.Cycles.Total), fmt.Sprintf("%.1f%%", 100*x.Share), report.CauseText(x.Bound),
			fmt.Sprintf("%.0f%%", report.Percent(x.BoundCycles, x.Cycles.Total)), report.Thousands(x.WorkingCycles), report.Thousands(x.ArrayCycles), report.Thousands(x.MemoryCycles))
	}
	p.Table(t, 0)
	if n := len(d.Parts) - len(shown); n > 0 {
		p.Printf("and %d more, %.1f%% of the cycles", n, 100*shareOf(d.Parts[len(shown):]))
	}
	p.rests(d.Parts)
	p.Printf("")
	for i := range d.Trials {
		p.change(i+1, &d.Trials[i], d.Now.TimeNs)
	}
	n := d.Tried
	p.Printf("%s tried: %d gain, %d do not, %d give other results, %d cannot run", report.Plural(n.All, "change"), n.Faster, n.NotFaster, n.OtherResults, n.Failed)
	if n.Left > 0 {
		p.Printf("%s", leftText(&n))
	}
	p.machines(d.Machines)
	return p.Err
}

// leftText says how many changes are not tried, and why.
func leftText(n *explain.Tried) string {
	return fmt.Sprintf("%d more not tried: trying changes ends once %s descriptors were timed", n.Left, report.Thousands(uint64(n.Work)))
}

// machines says what of the machine limits the model.
func (p pager) machines(list []explain.Change) {
	if len(list) == 0 {
		return
	}
	p.Printf("")
	p.Printf("What the machine limits, by timing the same work on others (--chip):")
	var none []string
	for i := range list {
		c := &list[i]
		if c.Gain < leastGain {
			none = append(none, c.Change)
			continue
		}
		p.Printf("  %-22s %v -> %v (%+.1f%%), energy %s", c.Change, c.Before.TimeNs, c.After.TimeNs, -100*c.Gain, view.Change(float64(c.Before.EnergyNJ), float64(c.After.EnergyNJ)))
	}
	if len(none) < len(list) {
		p.Whole("  the first: " + list[0].Command)
	}
	if len(none) > 0 {
		p.Printf("  no gain: %s", strings.Join(none, ", "))
	}
}

// leastGain is the share of the time from which another machine is said to gain.
const leastGain = 0.0005

func shareOf(parts []explain.Part) (sum float64) {
	for i := range parts {
		sum += parts[i].Share
	}
	return sum
}

// change prints one that gains.
// change prints a change that was tried; whole is the time of all that is explained.
func (p pager) change(n int, c *explain.Change, whole clock.Nanoseconds) {
	where := ""
	if c.Part != "" {
		where = report.Printable(c.Part) + ": "
	}
	if c.Alike > 1 {
		where = fmt.Sprintf("%s and %d more alike: ", report.Printable(c.Part), c.Alike-1)
	}
	p.Printf("%d. %s%s", n, where, c.Change)
	gain := fmt.Sprintf("%+.1f%%", -100*c.Gain)
	if c.Before.TimeNs == c.After.TimeNs {
		gain = "same"
	}
	p.Printf("   %v -> %v (%s), energy %s, bytes moved %s", c.Before.TimeNs, c.After.TimeNs, gain,
		view.Change(float64(c.Before.EnergyNJ), float64(c.After.EnergyNJ)), view.Change(float64(c.Before.DMABytes), float64(c.After.DMABytes)))
	if whole > 0 && c.Before.TimeNs != whole {
		p.Printf("   of the whole at most %+.1f%%: %v less where it gains as much there", -100*c.SavedNs/float64(whole), clock.Nanoseconds(c.SavedNs))
	}
	p.Printf("   needs %s", c.Needs)
	p.Printf("   results %s", c.Results)
	p.Whole("   before: " + c.CommandBefore)
	if c.Command != "" {
		p.Whole("   after:  " + c.Command)
	}
	p.Printf("")
}
