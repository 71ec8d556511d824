package chart

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// svgText is a text as the library writes it.
var svgText = regexp.MustCompile(`<text ([^>]*font-size:([0-9.]+)px[^>]*)>([^<]*)</text>`)

// fitted gives every text the width it was laid out with. A reader without our font
// takes another, often a wider one, and texts would run into each other.
func fitted(svg string) string {
	return svgText.ReplaceAllStringFunc(svg, func(element string) string {
		part := svgText.FindStringSubmatch(element)
		size, err := strconv.ParseFloat(part[2], 64)
		text := html.UnescapeString(part[3])
		// Letters that our font lacks have no width to go by.
		if err != nil || text == "" || strings.ContainsFunc(text, func(r rune) bool { return r > 0x24f && (r < 0x2010 || r > 0x2030) }) {
			return element
		}
		sty := style(vg.Length(size))
		if strings.Contains(part[1], "font-weight:bold") {
			sty.Font.Weight = bold
		}
		return fmt.Sprintf(`<text textLength="%.2f" lengthAdjust="spacingAndGlyphs" %s>%s</text>`, sty.Width(text).Points(), part[1], part[3])
	})
}
