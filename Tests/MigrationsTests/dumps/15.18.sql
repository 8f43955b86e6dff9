--
-- PostgreSQL database dump
--

--
-- Name: word; Type: DOMAIN; Schema: public; Owner: -
--

CREATE DOMAIN public.word AS text COLLATE pg_catalog."C"
	CONSTRAINT word_check CHECK ((VALUE ~ '^[a-z]+$'::text));


--
-- Name: count_words(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.count_words() RETURNS bigint
    LANGUAGE sql STABLE
    AS $$select count(*) from words$$;


--
-- Name: gone; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.gone (
    word text,
    reason text
);


--
-- Name: words; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.words (
    word public.word NOT NULL,
    rank integer DEFAULT 1 NOT NULL,
    size integer GENERATED ALWAYS AS (length((word)::text)) STORED,
    CONSTRAINT words_rank_check CHECK (((rank = ANY (ARRAY[1, 2])) OR (rank > 10)))
);


--
-- Name: forget(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.forget(a_word text) RETURNS boolean
    LANGUAGE sql
    BEGIN ATOMIC
 UPDATE public.words w SET rank = 11
   WHERE ((w.word)::text = forget.a_word);
 WITH d AS (
          DELETE FROM public.words w
           WHERE ((w.word)::text = forget.a_word)
           RETURNING w.word
         )
  INSERT INTO public.gone (word, reason)  SELECT d.word,
             'forgotten'
            FROM d;
 SELECT true;
END;


--
-- Name: short_words; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.short_words WITH (security_barrier='true') AS
 SELECT w.word,
    (w.size + 1) AS "?column?"
   FROM public.words w
  WHERE (w.size < 5);


--
-- Name: words words_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.words
    ADD CONSTRAINT words_pkey PRIMARY KEY (word);


--
-- Name: words_by_start; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX words_by_start ON public.words USING btree ("left"((word)::text, 1)) WHERE (rank > 1);


--
-- PostgreSQL database dump complete
--
