package flags

import (
	"strings"

	"github.com/spf13/cobra"

	"anesim/firmware/engine"
	"anesim/hw/chip"
	"anesim/hw/machine"
	"anesim/internal/network/keys"
	"anesim/loader/network"
)

// CompleteProgram returns the shell completions for the name of a program file.
func CompleteProgram(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"hwx", "bin"}, cobra.ShellCompDirectiveFilterFileExt
}

// CompleteNetwork returns the shell completions for the name of a network file. It completes only
// the first argument.
func CompleteNetwork(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for _, ext := range network.Extensions() {
		list = append(list, strings.TrimPrefix(ext, "."))
	}
	return list, cobra.ShellCompDirectiveFilterFileExt
}

// CompleteLayer returns the shell completions for the arguments of a layer. These are operations if
// args is empty, and the keys of the operation args[0] otherwise.
func CompleteLayer(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return keys.Names(), cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for _, o := range keys.Operations() {
		if o.Name != args[0] {
			continue
		}
		for _, k := range o.AllKeys() {
			list = append(list, k.Name+"=\t"+k.Help)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteFlags registers shell completions for the values of the flags of c.
func CompleteFlags(c *cobra.Command) {
	words := func(name string, list []string) {
		if c.Flags().Lookup(name) != nil {
			c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	if c.Flags().Lookup("chip") != nil {
		c.RegisterFlagCompletionFunc("chip", cobra.FixedCompletions(chip.Names(), cobra.ShellCompDirectiveDefault))
	}
	words("host", engine.HostNames())
	words("machine", machine.Names())
	if c.Flags().Lookup("out") != nil {
		c.MarkFlagDirname("out")
	}
}
