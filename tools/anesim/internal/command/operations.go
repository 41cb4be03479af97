package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anesim/internal/network/keys"
)

// groupOperations returns the operations in groups that have the same keys and limits. Groups and
// operations keep their order.
func groupOperations() (groups [][]keys.Operation) {
	for _, o := range keys.Operations() {
		same := func(g []keys.Operation) bool {
			return g[0].Limits == o.Limits && slices.Equal(g[0].AllKeys(), o.AllKeys())
		}
		if i := slices.IndexFunc(groups, same); i >= 0 {
			groups[i] = append(groups[i], o)
			continue
		}
		groups = append(groups, []keys.Operation{o})
	}
	return groups
}

// describeEvidence returns the kind of evidence for the operations of a group. If the kinds differ,
// the text lists the operations of each kind, as in "bytes: abs square; inferred: cube".
func describeEvidence(group []keys.Operation) string {
	var kinds []string
	names := map[string]string{}
	for _, o := range group {
		kind := fmt.Sprint(o.Evidence)
		if names[kind] == "" {
			kinds = append(kinds, kind)
		}
		names[kind] += " " + o.Name
	}
	if len(kinds) == 1 {
		return kinds[0]
	}
	for i, kind := range kinds {
		kinds[i] = kind + ":" + names[kind]
	}
	return strings.Join(kinds, "; ")
}

// formatOperationsHelp returns the help text about all operations. It describes a key that several
// groups of operations share once, and any other key with its operations.
func formatOperationsHelp() string {
	groups := groupOperations()
	shared := listSharedKeys(groups)
	var b strings.Builder
	b.WriteString(`A key has its default in parentheses, if it has one. anesim layer OP -h describes all keys
of one operation. These keys mean the same for all operations that have them, unless an
operation describes the key itself:

`)
	writeKeys(&b, shared)
	b.WriteString("\nThe operations, with all their keys, the evidence for their descriptors and their limits:\n")
	for _, g := range groups {
		var operations, names []string
		var own []keys.Key
		for _, o := range g {
			operations = append(operations, o.Name)
		}
		for _, k := range g[0].AllKeys() {
			names = append(names, k.Name)
			if !slices.Contains(shared, k) {
				own = append(own, k)
			}
		}
		fmt.Fprintf(&b, "\n  %s\n    keys: %s\n", strings.Join(operations, ", "), strings.Join(names, " "))
		writeKeys(&b, own)
		fmt.Fprintf(&b, "    limits: %s\n    evidence: %s\n", g[0].Limits, describeEvidence(g))
	}
	return strings.TrimRight(b.String(), "\n")
}

// listSharedKeys returns the keys that several groups have, in the order of the groups. If keys of
// the same name differ among the groups, it returns the one that most groups have.
func listSharedKeys(groups [][]keys.Operation) (shared []keys.Key) {
	uses := map[keys.Key]int{}
	for _, g := range groups {
		for _, k := range g[0].AllKeys() {
			uses[k]++
		}
	}
	for _, g := range groups {
		for _, k := range g[0].AllKeys() {
			i := slices.IndexFunc(shared, func(s keys.Key) bool { return s.Name == k.Name })
			switch {
			case uses[k] < 2:
			case i < 0:
				shared = append(shared, k)
			case uses[k] > uses[shared[i]]:
				shared[i] = k
			}
		}
	}
	return shared
}

// formatOperationHelp returns the help text about one operation and all its keys.
func formatOperationHelp(o *keys.Operation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The operation %s has these keys, with their defaults in parentheses:\n\n", o.Name)
	writeKeys(&b, o.AllKeys())
	fmt.Fprintf(&b, "\nLimits: %s.\nEvidence for its descriptors: %s.\n\nanesim layer -h describes the command and all operations.", o.Limits, o.Evidence)
	return b.String()
}

// writeKeys writes a line for each key with its description.
func writeKeys(b *strings.Builder, list []keys.Key) {
	for _, k := range list {
		fmt.Fprintf(b, "    %-10s %s\n", k.Name, k.Help)
	}
}

// showOperationHelp shows the help of command c. If args name an operation, it shows the help on
// that operation instead of the description of c.
func showOperationHelp(c *cobra.Command, args []string) {
	for _, arg := range args {
		if o, ok := keys.Find(arg); ok {
			c.Use = strings.Replace(c.Use, "OP", o.Name, 1)
			c.Long, c.Example = formatOperationHelp(o), ""
			break
		}
	}
	c.Root().HelpFunc()(c, args)
}
