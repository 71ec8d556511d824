package table

import "github.com/org/agentx-action/pkg/result"

var (
	powers   = []unit{{0, 1e-3, " mW"}, {1, 1, " W"}, {1e3, 1e3, " kW"}, {1e6, 1e6, " MW"}}
	energies = []unit{{0, 1e-3, " mJ"}, {1, 1, " J"}, {1e3, 1e3, " kJ"}, {1e6, 1e6, " MJ"}, {1e9, 1e9, " GJ"}}
)

// power is a line of what the GPUs drew and one of what that makes a token; nothing
// where nobody read it.
func power(p *page, d *result.Document) {
	w := d.Power
	if w == nil {
		return
	}
	draw := func(v *float64, what string) string {
		if v == nil {
			return ""
		}
		return in(*v, powers) + what
	}
	p.fact("Power of "+plural(w.GPUs, "GPU"), draw(w.AvgPowerW, " a GPU on the mean"), draw(w.MaxPowerW, " at the peak of one"), draw(w.AvgTotalPowerW, " all together"))
	each := func(v *float64, what string) string {
		if v == nil {
			return ""
		}
		return in(*v, energies) + what
	}
	p.fact("Energy", each(w.TotalEnergyJ, " in all"), each(w.JoulesPerOutputToken, " an output token"), each(w.JoulesPerInputToken, " an input token"),
		each(w.JoulesPerTotalToken, " a token of either"), each(w.JoulesPerQuery, " a request"))
	if w.Valid == 0 {
		var why []string
		for i, r := range w.Reasons {
			if i == maxReasons {
				why = append(why, "and "+whole(len(w.Reasons)-i)+" more")
				break
			}
			why = append(why, plain(r, nameWidth))
		}
		p.fact("No energy", why...)
	}
}

// maxReasons bounds the line.
const maxReasons = 4

// speculation is a line of what drafting brought; nothing where nothing was drafted.
func speculation(p *page, c *result.Counters) {
	if c == nil || c.SpecAcceptanceLength == nil {
		return
	}
	rate := ""
	if c.SpecAcceptanceRate != nil {
		rate = percent(*c.SpecAcceptanceRate) + " of the drafted tokens accepted"
	}
	p.fact("Speculative decoding", digits(*c.SpecAcceptanceLength)+" tokens a draft", rate)
}
