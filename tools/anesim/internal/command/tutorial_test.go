package command

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The conclusions of the tutorial follow from the transcripts on the same page: a share that the prose
// states is that of the printed figures, and what "changes nothing" has the same cycles.
func TestTutorialSaysWhatItShows(t *testing.T) {
	data, err := os.ReadFile("../../../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	prose := strings.Join(strings.Fields(page), " ")
	says := func(want string) {
		t.Helper()
		if !strings.Contains(prose, want) {
			t.Errorf("the tutorial does not say %q", want)
		}
	}
	number := func(pattern string) float64 {
		t.Helper()
		m := regexp.MustCompile("(?m)" + pattern).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("the tutorial shows nothing like %s", pattern)
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	percent := func(part, whole float64) int { return int(math.Round(100 * part / whole)) }

	early := number(`early.yaml --machine m1 \| grep "a call:"\n.* ([0-9,]+) calls/s`)
	first := number(`anesim model net.yaml --machine m1 \| grep "a call:"\n.* ([0-9,]+) calls/s`)
	says(fmt.Sprintf("the frames per second rise by %d%%", percent(early-first, first)))
	says(fmt.Sprintf("one frame at a time by %d%%.", percent(early-first, first)))

	all := number(`layer on chip m1: ([0-9,]+) cycles`)
	input, inputShare := number(`^0 \*  reduce +([0-9]+) `), number(`^0 \*  reduce .*input stall +([0-9]+)%`)
	output, outputShare := number(`^4 \*  elementwise +([0-9]+) `), number(`^4 \*  elementwise .*output stall +([0-9]+)%`)
	says(fmt.Sprintf("So %d%% of the time is waiting for memory", percent((input*inputShare+output*outputShare)/100, all)))

	first4, total7, both8 := number(`^4,6.8e\+10,6.2e\+10,(\d+)$`), number(`^7,1.36e\+11,6.2e\+10,(\d+)$`), number(`^8,1.36e\+11,1.24e\+11,(\d+)$`)
	says(fmt.Sprintf("the 1x1 layer takes %d%% less time (from point 4 to point 7), and if `ReadRate` doubles as well, %d%% less (point 8)", percent(first4-total7, first4), percent(first4-both8, first4)))
	if read5 := number(`^5,6.8e\+10,1.24e\+11,(\d+)$`); read5 != first4 {
		t.Errorf("points 4 and 5 differ: %v and %v", first4, read5)
	}
	if a, b := number(`^0,1.36e\+11,6.2e\+10,5e\+10,(\d+)$`), number(`^2,1.36e\+11,1.24e\+11,5e\+10,(\d+)$`); a != b {
		t.Errorf("points 0 and 2 of the second grid differ: %v and %v", a, b)
	}
	if a, b := number(`^1,1.36e\+11,6.2e\+10,1e\+11,(\d+)$`), number(`^3,1.36e\+11,1.24e\+11,1e\+11,(\d+)$`); a != total7 || b != both8 {
		t.Errorf("points 1 and 3 of the second grid, %v and %v, are not points 7 and 8 of the first, %v and %v", a, b, total7, both8)
	}
	for name, grade := range map[string]string{"TileRate": "inferred", "ReadRate": "fitted", "LaneRate": "assumed"} {
		if !regexp.MustCompile(`(?m)^  ` + name + ` .*  B/s  ` + grade + ` `).MatchString(page) {
			t.Errorf("%s is not %s", name, grade)
		}
	}
}
