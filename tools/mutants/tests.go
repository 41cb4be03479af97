package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A test is a test function, with its duration and the blocks of code that it
// reaches, by file.
type test struct {
	name   string
	time   time.Duration
	blocks map[string][]block
}

// A block is a range of source positions.
type block struct{ line, col, endLine, endCol int }

// containsPosition reports whether the position at line and col is in the block. It compares
// columns only on the first and the last line, like the tool gremlins.
func (b block) containsPosition(line, col int) bool {
	switch {
	case line > b.line && line < b.endLine:
		return true
	case b.line == b.endLine:
		return line == b.line && col >= b.col && col <= b.endCol
	}
	return line == b.line && col >= b.col || line == b.endLine && col <= b.endCol
}

func (t *test) reachesMutant(m *mutant) bool {
	return slices.ContainsFunc(t.blocks[m.file], func(b block) bool { return b.containsPosition(m.line, m.col) })
}

// runTests runs every test separately with coverage, and returns the tests that pass and reach code
// of the package.
func (p *pkg) runTests() (list []test, err error) {
	bin := filepath.Join(p.temp, "cover.test")
	if text, err := p.compileTests(bin, nil, "-cover", "-coverpkg="+p.ImportPath); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	cmd := exec.Command(bin, "-test.list", ".")
	cmd.Dir = p.tests.Dir
	text, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(string(text)) {
		if strings.HasPrefix(name, "Benchmark") || p.skip != nil && p.skip.MatchString(name) {
			continue
		}
		profile := filepath.Join(p.temp, "profile")
		os.Remove(profile) // a test that ends the process writes none, and must not seem to reach what the last one did
		cmd := exec.Command(bin, p.newTestArguments([]string{name}, "-test.coverprofile", profile)...)
		cmd.Dir = p.tests.Dir
		start := time.Now()
		// A test that fails without a mutant would count as one that detects them all.
		if text, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "skipping %s: it fails when run alone: %v\n%s", name, err, text)
			continue
		}
		t := test{name, time.Since(start), readBlocks(profile, p.ImportPath)}
		if len(t.blocks) > 0 {
			list = append(list, t)
		}
	}
	return list, nil
}

var profileLine = regexp.MustCompile(`^(.*)/([^/]+):(\d+)\.(\d+),(\d+)\.(\d+) \d+ (\d+)$`)

// readBlocks returns the blocks that a coverage profile reports as reached, by file.
func readBlocks(profile, pkg string) map[string][]block {
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil // a skipped test writes no profile
	}
	list := map[string][]block{}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		f := profileLine.FindStringSubmatch(s.Text())
		if f == nil || f[1] != pkg || f[7] == "0" {
			continue
		}
		var n [4]int
		for i := range n {
			n[i], _ = strconv.Atoi(f[3+i])
		}
		list[f[2]] = append(list[f[2]], block{n[0], n[1], n[2], n[3]})
	}
	return list
}

func (p *pkg) newTestArguments(names []string, more ...string) []string {
	args := append([]string{"-test.failfast", "-test.run", "^(" + strings.Join(names, "|") + ")$"}, more...)
	if p.short {
		args = append(args, "-test.short")
	}
	return args
}

// runMutant runs the named tests with the mutant of the given id, or with none if id is 0. It
// returns killed if a test fails, timedOut if the tests exceed the limit, and lived otherwise.
func (p *pkg) runMutant(bin string, id int, names []string, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, p.newTestArguments(names)...)
	cmd.Dir = p.tests.Dir
	cmd.Env = append(os.Environ(), variable+"="+strconv.Itoa(id), "GOMEMLIMIT=3GiB")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return timedOut
	case errors.As(err, &failed):
		return killed
	}
	return lived
}

// quickLimit is the total duration of the tests that testMutant runs together in one process.
const quickLimit = 2 * time.Second

// testMutant runs the tests that reach the mutant m and returns its status. It runs quick tests
// together and the others one by one, until one kills the mutant.
func (p *pkg) testMutant(m *mutant, bin string, tests []test) string {
	var quick []string
	var slow []test
	sum := time.Duration(0)
	for _, t := range tests {
		if !t.reachesMutant(m) {
			continue
		}
		if sum += t.time; sum < quickLimit {
			quick = append(quick, t.name)
		} else {
			slow = append(slow, t)
		}
	}
	status := lived
	if len(quick) > 0 {
		status = p.runMutant(bin, m.id, quick, 10*quickLimit)
	}
	for _, t := range slow {
		if status != lived {
			break
		}
		status = p.runMutant(bin, m.id, []string{t.name}, 5*quickLimit+8*t.time)
	}
	return status
}
