"""What the report shows, in order: one entry per experiment.

To add an experiment to the report, add its entry to SECTIONS. A figure named
here is a `figure` target of analysis/BUILD. Bazel reads these lists for names;
contents.py reads them for texts, so each stays one plain literal.

No text holds a digit: numbers come from verified results by placeholders
(template.py), and the chapter's own figure numbers stand in "chapter_figure".
"""

# Figures over all experiments, at the top of the page.
OVERVIEW = [
    {
        "name": "all_claims",
        "caption_en": """All claims at a glance. (a) Each dot is a number that
            the chapter prints; its place says how far our value is from it, as
            a share of what agreement allows (half a unit of the last printed
            digit, or four standard errors where the number comes from random
            draws). Dots in the grey band agree. (b) How the claims of each
            experiment came out, claims in words included.""",
        "caption_zh": """所有论断一览。(a) 每个点是书中印出的一个数；位置表示我们的
            值与它之差占允许差的比例（允许差为末位数字的半个单位；来自随机抽样的数
            则为四个标准误差）。落在灰带内即为一致。(b) 各实验的论断（含文字论断）
            的结论。""",
    },
]

SECTIONS = [
    {
        "experiment": "soft_lookup",
        "title_en": "Attention as a soft dictionary lookup",
        "title_zh": "注意力：软字典查找",
        "question_en": """What does attention return when a dictionary would
            find an exact match or nothing? Every key takes part, each by how
            well it matches.""",
        "question_zh": """字典要么精确命中，要么什么也找不到；注意力返回什么？
            每个键都参与，匹配越好，占比越大。""",
        "figures": [
            {
                "name": "soft_lookup",
                "chapter_figure": "6.1",
                "caption_en": """A soft lookup lies between a plain average and
                    an exact match. (a) Multiplying all scores by a factor
                    moves the weights from equal shares to one single key.
                    (b) The answer moves in a straight line from the mean of
                    the values to the value of the best key; the printed
                    answer is ({published:soft_lookup.output_1},
                    {published:soft_lookup.output_2}). (c) While the query
                    turns, the hard answer stands still and then jumps
                    ({result:soft_lookup:/path/hard_jumps} times), so it has no
                    useful gradient; the soft answer always has a slope.""",
                "caption_zh": """软查找介于简单平均与精确命中之间。(a) 所有分数
                    同乘一个因子，权重就从均分变为集中在一个键上。(b) 答案沿直线
                    从各值的平均移到最佳键的值；书中印出的答案是
                    ({published:soft_lookup.output_1},
                    {published:soft_lookup.output_2})。(c) 查询转动时，硬查找的
                    答案先保持不变再突然跳变（共
                    {result:soft_lookup:/path/hard_jumps}
                    次），没有有用的梯度；软查找的答案处处有斜率。""",
            },
        ],
    },
]
