package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"anesim"
	"anesim/hw/chip"
	"anesim/internal/check"
	"anesim/internal/explain"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/dump"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/page"
	"anesim/tools/anesim/internal/view"
)

// maxRegisterTexts is the most descriptors whose registers are in a page. They take about 2 kB
// each.
const maxRegisterTexts = 2000

// writeRunPage writes the page of a layer or of the program in a file.
func (f *runFlags) writeRunPage(ctx context.Context, res *anesim.Result, doc *report.Run, file string) error {
	r := view.FromRun(doc)
	o := page.Options{}
	if len(doc.Descriptors) > maxRegisterTexts {
		r.Notes = append(r.Notes, fmt.Sprintf("registers are left out for more than %d descriptors; print them with anesim dump", maxRegisterTexts))
	} else {
		texts, err := dump.Registers(res.Programs[0].Program)
		if err != nil {
			return err
		}
		for i := range doc.Descriptors {
			if k := doc.Descriptors[i].Index; k < len(texts) {
				o.Details = append(o.Details, texts[k])
			}
		}
	}
	if err := f.compareBaseline(res, cmp.Or(file, doc.Program), &o); err != nil {
		return err
	}
	var err error
	if o.Explained, err = f.explainRun(ctx, res, file); err != nil {
		return err
	}
	return page.WriteFile(f.HTML, r, o)
}

// writeNetworkPage writes the page of a network. The details of a layer are the registers of its
// descriptors. The explanation x may be nil.
func (f *runFlags) writeNetworkPage(res *anesim.Result, doc *report.Network, x *explain.Explanation) error {
	r := view.FromNetwork(doc)
	o := page.Options{Explained: x}
	total := 0
	for k := range res.Programs {
		total += res.Programs[k].Program.TaskCount
	}
	if total > maxRegisterTexts {
		r.Notes = append(r.Notes, fmt.Sprintf("registers are left out for more than %d descriptors; print them with anesim model --emit and anesim dump", maxRegisterTexts))
	} else {
		o.Details = make([]string, len(doc.Layers))
		for k := range res.Programs {
			p := &res.Programs[k]
			texts, err := dump.Registers(p.Program)
			if err != nil {
				return err
			}
			for i, run := range p.Runs {
				if at := p.First + i; at < len(o.Details) && run.First+run.Tasks <= len(texts) {
					o.Details[at] = strings.Join(texts[run.First:run.First+run.Tasks], "\n")
				}
			}
		}
	}
	if err := f.compareBaseline(res, doc.File, &o); err != nil {
		return err
	}
	return page.WriteFile(f.HTML, r, o)
}

// compareBaseline sets o.Baseline to a comparison of the result with the baseline that --baseline
// names, if any.
func (f *runFlags) compareBaseline(res *anesim.Result, name string, o *page.Options) error {
	if f.HTMLBaseline == "" {
		return nil
	}
	base, err := readBaseline(f.HTMLBaseline, false)
	if err != nil {
		return input.InFile(f.HTMLBaseline, err)
	}
	entry := name
	if res.Model.Kind() != anesim.KindLayer {
		entry = findEntryName(base, f.HTMLBaseline, name)
	}
	e, err := check.NewEntry(res, entry)
	if err != nil {
		return err
	}
	e.Values = false // a page compares checksums if both sides have them
	v := base.Check(&e, 0)
	v.Input = name
	o.Baseline = page.Compare(f.HTMLBaseline, &v)
	return nil
}

// maxExplained is the most descriptors of a program that is explained in a page. Each change that
// is tried runs all of them.
const maxExplained = 2000

// explainRun tries changes to a program or a layer and returns the explanation. It returns nil if
// the program is too long, if it faulted, or if it ran with options for which explain has no flags.
func (f *runFlags) explainRun(ctx context.Context, res *anesim.Result, file string) (*explain.Explanation, error) {
	if res.Report.Count() > maxExplained || len(res.Report.Faults) > 0 || f.hasUnexplainableOptions() {
		return nil, nil
	}
	how := f.newExplainOptions(file)
	how.Work = explain.WorkLikeRun(len(res.Report.Descriptors))
	return explain.Explain(ctx, res.Model, res.Options, how)
}

// hasUnexplainableOptions reports whether a run used options for which explain has no flags.
func (f *runFlags) hasUnexplainableOptions() bool {
	return len(f.State)+len(f.Set)+len(f.Bind) > 0 || f.Init != "" || f.Watts != 0 || f.Power != ""
}

// newExplainOptions returns the options of package explain that the flags of the command run
// select. The model's file is file.
func (f *runFlags) newExplainOptions(file string) explain.Options {
	how := explain.Options{File: file}
	if f.Machine != "" {
		how.Flags = append(how.Flags, "--machine", f.Machine)
	} else if f.Chip != chip.Default {
		how.Flags = append(how.Flags, "--chip", f.Chip)
	}
	if f.GateTiles != "" {
		how.Flags = append(how.Flags, "--gate-tiles", f.GateTiles)
	}
	return how
}
