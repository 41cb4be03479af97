package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
)

// A pkg is the package whose mutants are tested, with the options of the command line. Its
// exported fields are filled by go list.
type pkg struct {
	Dir, ImportPath, Name string
	GoFiles               []string

	tests struct{ Dir, ImportPath string } // the package whose tests run

	set   *token.FileSet
	files []source
	temp  string
	short bool
	skip  *regexp.Regexp
	every int
	first int // the sample holds each mutant whose number has the same remainder as first, modulo every
	jobs  int
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tests the mutants of the packages that the command line names, and prints a summary for each
// package.
func run(args []string) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	dir := flags.String("C", ".", "the module's directory")
	short := flags.Bool("short", false, "run short tests")
	skip := flags.String("skip", "", "skip tests that match the `PATTERN`")
	every := flags.Int("every", 1, "test only every `N`th covered mutant, beginning with the Nth")
	first := flags.Int("first", 0, "with -every, begin with the `M`th covered mutant, for another sample")
	jobs := flags.Int("j", 1, "number of mutants to run at the same time")
	from := flags.String("tests", "", "run the tests of `PACKAGE` instead of the mutants' own")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New(`missing package; want "mutants [FLAGS] PACKAGE..."`)
	}
	if *every < 1 || *jobs < 1 {
		return fmt.Errorf("-every is %d and -j is %d; want at least 1 for both", *every, *jobs)
	}
	if *first < 0 || *first > *every {
		return fmt.Errorf("-first is %d; want 0 to %d, the value of -every", *first, *every)
	}
	var skipped *regexp.Regexp
	if *skip != "" {
		var err error
		if skipped, err = regexp.Compile(*skip); err != nil {
			return fmt.Errorf("-skip: %w", err)
		}
	}
	// The packages' paths and the go command are relative to the module.
	if err := os.Chdir(*dir); err != nil {
		return err
	}
	for _, path := range flags.Args() {
		p := &pkg{set: token.NewFileSet(), short: *short, skip: skipped, every: *every, first: *first, jobs: *jobs}
		list, err := p.classifyMutants(path, cmp.Or(*from, path))
		if err != nil {
			return err
		}
		fmt.Println(formatSummary(path, list))
	}
	return nil
}

// describePackage runs go list for the package with the given path and stores the result in to. It
// asks for the fields that to has.
func describePackage(path string, to any) error {
	text, err := exec.Command("go", "list", "-json=Dir,ImportPath,Name,GoFiles", path).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return json.Unmarshal(text, to)
}

// classifyMutants determines the status of every mutant of the package with the given path, using
// the tests of the package with the path from. It prints the mutants that survive or do not end,
// and returns all of them.
func (p *pkg) classifyMutants(path, from string) ([]*mutant, error) {
	if err := describePackage(path, p); err != nil {
		return nil, err
	}
	err := describePackage(from, &p.tests)
	if err != nil {
		return nil, err
	}
	if p.temp, err = os.MkdirTemp("", "mutants"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(p.temp)
	if p.files, err = parseFiles(p.set, p.Dir, p.GoFiles); err != nil {
		return nil, err
	}
	tests, err := p.runTests()
	if err != nil {
		return nil, err
	}
	all := findMutants(p.set, p.files)
	run := p.chooseMutants(all, tests)
	bin, err := p.buildMutants(run)
	if err != nil {
		return nil, err
	}
	// A test that fails without a mutant would count every mutant as killed. It may fail since bodies
	// are longer here, for instance one that counts allocations.
	tests = slices.DeleteFunc(tests, func(t test) bool {
		status := p.runMutant(bin, 0, []string{t.name}, 10*quickLimit+20*t.time)
		if status != lived {
			fmt.Fprintf(os.Stderr, "skipping %s: it fails in this binary without a mutant\n", t.name)
		}
		return status != lived
	})
	// Fast tests first: most mutants die of one of the first.
	slices.SortStableFunc(tests, func(a, b test) int { return int(a.time - b.time) })
	if err := p.setStatuses(run, bin, tests); err != nil {
		return nil, err
	}
	for _, m := range all {
		// Two mutants with the same text after the change are tested once.
		if m.same != nil && m.status == "" {
			m.status = m.same.status
		}
		if m.status == lived || m.status == timedOut {
			fmt.Println(m)
		}
	}
	return all, nil
}

// chooseMutants returns the mutants to run. It sets the status of mutants that no test reaches to
// notCovered. Of the others, it chooses every p.every-th from p.first on, and sets the status of the
// rest to leftOut.
func (p *pkg) chooseMutants(all []*mutant, tests []test) (run []*mutant) {
	n := 0
	for _, m := range all {
		if !slices.ContainsFunc(tests, func(t test) bool { return t.reachesMutant(m) }) {
			m.status = notCovered
			continue
		}
		if n++; (n-p.first)%p.every != 0 {
			m.status = leftOut
		} else if m.same == nil || m.same.status == leftOut {
			m.same = nil
			run = append(run, m)
		}
	}
	return run
}

// setStatuses runs the tests on each mutant in run and sets its status. Mutants outside of
// functions need their own binaries.
func (p *pkg) setStatuses(run []*mutant, bin string, tests []test) error {
	work := make(chan *mutant)
	var wg sync.WaitGroup
	for range p.jobs {
		wg.Go(func() {
			for m := range work {
				m.status = p.testMutant(m, bin, tests)
			}
		})
	}
	var outside []*mutant
	for _, m := range run {
		switch {
		case m.status != "":
		case m.in == nil:
			outside = append(outside, m)
		default:
			work <- m
		}
	}
	close(work)
	wg.Wait()
	// These are built one at a time: the go command uses all processors by itself.
	for _, m := range outside {
		one, err := p.buildAlone(m)
		if err != nil {
			return err
		}
		if m.status = unbuilt; one != "" {
			m.status = p.testMutant(m, one, tests)
		}
	}
	return nil
}

// formatSummary returns a line with the number of mutants of each status, and the percentage of
// killed ones as the tool gremlins computes it.
func formatSummary(path string, list []*mutant) string {
	n := map[string]int{}
	for _, m := range list {
		n[m.status]++
	}
	dead := n[killed] + n[unbuilt]
	s := fmt.Sprintf("%s: %d of %d killed, %.1f%%", path, dead, dead+n[lived], 100*float64(dead)/float64(max(1, dead+n[lived])))
	for _, status := range []string{unbuilt, timedOut, notCovered, leftOut} {
		if n[status] > 0 {
			s += fmt.Sprintf("; %d %s", n[status], map[string]string{
				unbuilt: "of them do not compile", timedOut: "do not end", notCovered: "not covered", leftOut: "not in the sample",
			}[status])
		}
	}
	return s
}
