package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"anesim"
	"anesim/bench/check"
	"anesim/bench/explain"
	"anesim/bench/report"
	"anesim/hw/chip"
	"anesim/tools/anesim/internal/dump"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/page"
	"anesim/tools/anesim/internal/view"
)

// maxRegisterTexts bounds the descriptors whose registers a page has: at some 2 kB each
// those of more would be most of the file.
const maxRegisterTexts = 2000

// writeRunPage writes the page of the run of a layer, or of the program in a file.
func (f *runFlags) writeRunPage(ctx context.Context, res *anesim.Result, doc *report.Run, file string) error {
	r := view.OfRun(doc)
	o := page.Options{}
	if len(doc.Descriptors) > maxRegisterTexts {
		r.Notes = append(r.Notes, fmt.Sprintf("registers of more than %d descriptors are not in the page: anesim dump", maxRegisterTexts))
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
	if err := f.compare(res, cmp.Or(file, doc.Program), &o); err != nil {
		return err
	}
	var err error
	if o.Explained, err = f.explained(ctx, res, file); err != nil {
		return err
	}
	return page.WriteFile(f.HTML, r, o, append(f.InputFiles(), file)...)
}

// writeNetworkPage writes the page of a network's run. A layer's registers are those of its
// descriptors. The explanation is what was tried, nil where nothing was.
func (f *runFlags) writeNetworkPage(res *anesim.Result, doc *report.Network, x *explain.Explanation) error {
	r := view.OfNetwork(doc)
	o := page.Options{Explained: x}
	total := 0
	for k := range res.Programs {
		total += res.Programs[k].Program.TaskCount
	}
	if total > maxRegisterTexts {
		r.Notes = append(r.Notes, fmt.Sprintf("registers of more than %d descriptors are not in the page: anesim model --emit and anesim dump", maxRegisterTexts))
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
	if err := f.compare(res, doc.File, &o); err != nil {
		return err
	}
	return page.WriteFile(f.HTML, r, o, append(f.InputFiles(), doc.File)...)
}

// compare holds a result against the baseline where one is named.
func (f *runFlags) compare(res *anesim.Result, name string, o *page.Options) error {
	if f.HTMLBaseline == "" {
		return nil
	}
	base, err := readBaseline(f.HTMLBaseline, false)
	if err != nil {
		return input.InFile(f.HTMLBaseline, err)
	}
	entry := name
	if res.Model.Kind() != anesim.KindLayer {
		entry = entryName(base, f.HTMLBaseline, name)
	}
	e, err := check.NewEntry(res, entry)
	if err != nil {
		return err
	}
	v := base.Check(&e, 0)
	v.Input = name
	o.Baseline = page.Compare(f.HTMLBaseline, &v)
	return nil
}

// maxExplained bounds the descriptors of what is explained in a page: each change that is
// tried runs all of them.
const maxExplained = 2000

// explained are the changes that were tried to a program or a layer, nil of one that is too
// long, faulted or ran in a way that explain has no flags for.
func (f *runFlags) explained(ctx context.Context, res *anesim.Result, file string) (*explain.Explanation, error) {
	if res.Report.Count() > maxExplained || len(res.Report.Faults) > 0 || f.altered() {
		return nil, nil
	}
	return explain.Explain(ctx, res.Model, res.Options, f.explaining(file))
}

// altered reports whether a run differs from the model's own in a way that explain and the
// commands in its answer have no flags for.
func (f *runFlags) altered() bool {
	return len(f.State)+len(f.Set)+len(f.Bind) > 0 || f.Init != "" || f.Watts != 0 || f.Power != ""
}

// explaining is a model for explain, with the flags of both commands.
func (f *runFlags) explaining(file string) explain.Options {
	how := explain.Options{File: file}
	if f.Chip != chip.Default {
		how.Flags = append(how.Flags, "--chip", f.Chip)
	}
	if f.GateTiles != "" {
		how.Flags = append(how.Flags, "--gate-tiles", f.GateTiles)
	}
	return how
}
